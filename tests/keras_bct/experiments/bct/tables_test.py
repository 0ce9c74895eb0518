"""What each table trains."""

import pytest

from keras_bct.experiments import TABLES, Catalogue
from keras_bct.experiments.bct.run_tables import trainings

BY_NAME = {table.name: table for table in TABLES}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_the_paper_says_stands_at_rows_that_there_are(table) -> None:
    titles = {row.title for row in table.rows(Catalogue(0))}
    assert {title for title, _ in table.paper} <= titles


def test_tables_1_2_and_5_share_their_trainings() -> None:
    # old, independent, beta, beta-sys, beta-kd, l2, lwf.
    shared = [BY_NAME[name] for name in ("table1", "table2", "table5")]
    assert len(trainings(shared, seeds=1)) == 7
    assert len(trainings(shared, seeds=3)) == 21


def test_predecessors_come_before_their_successors() -> None:
    done = []
    for training in trainings(TABLES, seeds=2):
        assert training.predecessor is None or training.predecessor in done
        done.append(training)


def test_the_chains_last_version_never_saw_the_first() -> None:
    to_first = BY_NAME["table4"].rows(Catalogue(0))[1]
    assert to_first.new.predecessor != to_first.old
    assert to_first.new.predecessor.predecessor == to_first.old


def test_versions_of_one_seed_begin_alike_and_unlike_the_old_one() -> None:
    rows = BY_NAME["table1"].rows(Catalogue(1))
    (new_seed,) = {row.new.recipe.seed for row in rows}
    assert new_seed != rows[0].old.recipe.seed


def test_seeds_share_nothing() -> None:
    first = {t.recipe.seed for t in trainings(TABLES, seeds=1)}
    both = {t.recipe.seed for t in trainings(TABLES, seeds=2)}
    assert len(both) == 2 * len(first)
