"""FastFill's experiments: rows and what is expected of them."""

from __future__ import annotations

import dataclasses
from typing import Any

from keras_bct import adapters
from keras_bct.alignment.recipe import AlignmentRecipe, residual_recipe
from keras_bct.experiments.fastfill import claims
from keras_bct.experiments.fastfill.aligned_parts import Migration
from keras_bct.experiments.fastfill.catalogue import FastFillCatalogue
from keras_bct.experiments.fastfill.map_methods import Adapted, Aligned, Unmapped
from keras_bct.experiments.fastfill.rows import (
    DISJOINT_SEEN,
    SEEN,
    UNSEEN,
    VALIDATION_SEEN,
    VALIDATION_UNSEEN,
    BackfillRow,
    FastFillTable,
)

PAPER = AlignmentRecipe(hidden_size=512, batch_size=128, epochs=20, warm_up_epochs=2)
"""The paper's recipe for a few ten thousand pairs: narrower hidden layers, and smaller
batches, or h would take 900 steps where it took 100,000 in the paper."""

LARGE_BATCHES = dataclasses.replace(PAPER, batch_size=1024)

# More epochs are a little better (`fastfill-choice`), and take as much longer.
OURS = residual_recipe(epochs=8)

MEAN = Aligned(PAPER)
SUM = Aligned(dataclasses.replace(PAPER, components="sum"))
FCT = Aligned(dataclasses.replace(PAPER, discriminative_weight=0.0, uncertainty="none"))
RESIDUAL = Aligned(OURS)
RIDGE = Adapted(adapters.Ridge())
PROCRUSTES = Adapted(adapters.Procrustes())
LAMBDA = Adapted(adapters.LambdaOrthogonal(), labelled=True)

PICTURES = "new-and-copies"

CLOSED_FORMS = ("Ridge, random", "Procrustes, random")


def _fastfill(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    old, new = catalogue.old(), catalogue.new()
    migration = Migration(old, new, PICTURES)
    bct = Migration(old, catalogue.bct(), PICTURES)
    ract = Migration(old, catalogue.ract(), PICTURES)
    return (
        BackfillRow("BCT, random", bct, Unmapped()),
        BackfillRow("RACT, random", ract, Unmapped()),
        BackfillRow("RACT, entropy", ract, Unmapped(), "entropy"),
        BackfillRow("Procrustes, random", migration, PROCRUSTES),
        BackfillRow("Ridge, random", migration, RIDGE),
        BackfillRow("lambda-orthogonal, random", migration, LAMBDA),
        BackfillRow("lambda-orthogonal, class mean", migration, LAMBDA, "class mean"),
        BackfillRow("FCT, random", migration, FCT),
        BackfillRow("FastFill (mean), random", migration, MEAN),
        BackfillRow("FastFill (mean), sigma", migration, MEAN, "sigma"),
        BackfillRow("FastFill (mean), entropy", migration, MEAN, "entropy"),
        BackfillRow("FastFill (mean), oracle", migration, MEAN, "loss"),
        BackfillRow("FastFill (mean), linear oracle", migration, MEAN, "linear"),
        BackfillRow("FastFill (sum), random", migration, SUM),
        BackfillRow("FastFill (sum), sigma", migration, SUM, "sigma"),
        BackfillRow("ours, random", migration, RESIDUAL),
        BackfillRow("ours, sigma", migration, RESIDUAL, "sigma"),
    )


def _of(changes: dict[str, Any], recipe: AlignmentRecipe = PAPER) -> Aligned:
    return Aligned(dataclasses.replace(recipe, **changes))


def _ablation(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    migration = Migration(catalogue.old(), catalogue.new(), PICTURES)
    unit = {"unit_length": True}
    on_h = {"base": "none", "dropout": 0.0, "warm_up_epochs": 2}
    maps = (
        ("L_l2 (FCT)", FCT),
        ("L_l2 + L_disc", _of({"uncertainty": "none"})),
        ("L_l2, uncertainty", _of({"discriminative_weight": 0.0})),
        ("FastFill", MEAN),
        ("FastFill, batches of 1024", Aligned(LARGE_BATCHES)),
        ("FastFill, a variance a component", _of({"uncertainty": "components"})),
        ("FastFill, prototypes", Aligned(PAPER, prototypes=True)),
        ("FastFill, unit length", _of(unit)),
        ("FCT, unit length", dataclasses.replace(FCT, recipe=_unit_fct())),
        ("ours", RESIDUAL),
        ("ours on the paper's h", _of(on_h, OURS)),
        ("ours, raw", _of({"unit_length": False}, OURS)),
        ("ours, without dropout", _of({"dropout": 0.0}, OURS)),
        ("ours, without L_disc", _of({"discriminative_weight": 0.0}, OURS)),
        ("ours, L_disc of weight 1", _of({"discriminative_weight": 1.0}, OURS)),
        ("ours, prototypes", Aligned(OURS, prototypes=True)),
    )
    return _in_both_orders(
        *((name, migration, method) for name, method in maps),
        *_without_copies(migration),
    )


def _choice(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    migration = Migration(catalogue.old(), catalogue.new(), PICTURES)
    maps = (
        ("FastFill", MEAN),
        ("FastFill, batches of 1024", Aligned(LARGE_BATCHES)),
        ("FastFill, batches of 512", _of({"batch_size": 512})),
        ("ours", RESIDUAL),
        ("ours, 16 epochs", _of({"epochs": 16}, OURS)),
        ("ours, without L_disc", _of({"discriminative_weight": 0.0}, OURS)),
        ("ours, L_disc of weight 0.2", _of({"discriminative_weight": 0.2}, OURS)),
        ("ours, without dropout", _of({"dropout": 0.0}, OURS)),
        ("ours, narrower", _of({"hidden_size": 512}, OURS)),
    )
    return (
        BackfillRow("Ridge; random", migration, RIDGE),
        *_in_both_orders(
            *((name, migration, method) for name, method in maps),
            *_without_copies(migration),
        ),
    )


def _without_copies(migration: Migration) -> tuple[tuple[str, Migration, Aligned], ...]:
    pictures = dataclasses.replace(migration, part="new")
    # As many steps on a quarter of the pairs.
    return (
        ("FastFill, no copies", pictures, _of({"epochs": 80})),
        ("ours, no copies", pictures, _of({"epochs": 32}, OURS)),
    )


def _in_both_orders(*fits: tuple[str, Migration, Aligned]) -> tuple[BackfillRow, ...]:
    rows = []
    for name, migration, method in fits:
        rows.append(BackfillRow(f"{name}; random", migration, method))
        if method.recipe.uncertainty != "none":
            rows.append(BackfillRow(f"{name}; sigma", migration, method, "sigma"))
    return tuple(rows)


def _unit_fct() -> AlignmentRecipe:
    return dataclasses.replace(FCT.recipe, unit_length=True)


def _pair_of_maps(migration: Migration) -> tuple[BackfillRow, ...]:
    return (
        BackfillRow("Ridge, random", migration, RIDGE),
        BackfillRow("FCT, random", migration, FCT),
        BackfillRow("FastFill (mean), random", migration, MEAN),
        BackfillRow("FastFill (mean), sigma", migration, MEAN, "sigma"),
        BackfillRow("ours, random", migration, RESIDUAL),
        BackfillRow("ours, sigma", migration, RESIDUAL, "sigma"),
    )


def _bias(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    return _pair_of_maps(Migration(catalogue.biased_old(), catalogue.new(), PICTURES))


def _disjoint(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    return _pair_of_maps(
        Migration(catalogue.old(), catalogue.disjoint_new(), "disjoint-new-and-copies")
    )


def _side_information(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    migration = Migration(catalogue.old(), catalogue.new(), PICTURES)
    rows = []
    for name, method in (("FCT", FCT), ("FastFill (mean)", MEAN), ("ours", RESIDUAL)):
        for words, side in (("", False), (" with side information", True)):
            with_side = dataclasses.replace(method, side_information=side)
            rows.append(BackfillRow(f"{name}{words}, random", migration, with_side))
            if method.recipe.uncertainty != "none":
                rows.append(
                    BackfillRow(f"{name}{words}, sigma", migration, with_side, "sigma")
                )
    return tuple(rows)


FASTFILL_TABLES = (
    FastFillTable(
        name="fastfill",
        title="FastFill against its rivals",
        about=(
            "An old model of 150 characters and a narrow network, a new one of 600 "
            "and a wide one, trained without a look at the old; both on 19 typefaces. "
            "The maps are fitted to the stored embeddings of the new model's 11,400 "
            "training pictures and of three changed copies of each (shifted, turned "
            "and faded as in the models' training). BCT and RACT map nothing: their "
            "new models were trained to follow the old one, and have a self-test of "
            "their own. FastFill is as published, on raw embeddings, with L_l2 by the "
            "mean of the components (the authors' code) and by their sum (the paper's "
            "formula), but for h's hidden layers, 512 units where the paper has 2048, "
            "and its batches, 128 pairs where the paper has 1024 and a hundred times "
            "as many steps. *oracle* orders by the loss of the item itself, *linear "
            "oracle* by what a linear unit on h's output, as psi is one, says of it: "
            "least squares, fitted to the test items of the other typefaces. "
            "**ours** is not published elsewhere: see the ablation."
        ),
        rows=_fastfill,
        claims=(
            claims.normalised_area(SEEN, "FastFill (mean), sigma", 0.97),
            claims.above(SEEN, "FastFill (mean), sigma", "FCT, random"),
            claims.not_below(
                SEEN, "FastFill (mean), sigma", ("lambda-orthogonal, class mean",)
            ),
            claims.tau(SEEN, "FastFill (mean), sigma", 0.6),
            *(
                claims.not_below(setting, "ours, sigma", CLOSED_FORMS, start=start)
                for setting in (SEEN, UNSEEN)
                for start in (True, False)
            ),
        ),
    ),
    FastFillTable(
        name="fastfill-ablation",
        title="What FastFill's parts do, and ours",
        about=(
            "The migration of `fastfill`, part by part. *prototypes*: no classifier "
            "of the new model is at hand, and the mean new embeddings of the classes "
            "stand in for it."
        ),
        rows=_ablation,
    ),
    FastFillTable(
        name="fastfill-bias",
        title="The gap between two groups along the backfill",
        about=(
            "The old model is trained on 300 light characters and 30 dense ones (less "
            "and more ink than the median), the new one on 300 of each. *closed*: from "
            "which share of the backfill on the gap is no larger than the new model's, "
            "to the far end of its interval."
        ),
        rows=_bias,
        claims=tuple(
            claim
            for setting in (SEEN, UNSEEN)
            for name in ("FastFill (mean)", "ours")
            for claim in (
                claims.gap_closed(setting, f"{name}, sigma"),
                claims.gap_closed_before(setting, f"{name}, sigma", f"{name}, random"),
            )
        ),
        by_group=True,
    ),
    FastFillTable(
        name="fastfill-disjoint",
        title="Old and new classes that do not overlap",
        about=(
            "The old model is trained on 150 characters and the new one on 450 "
            "others; seen classes are the new model's."
        ),
        rows=_disjoint,
        settings=(DISJOINT_SEEN, UNSEEN),
        claims=tuple(
            claims.not_below(setting, "ours, sigma", ("Ridge, random",))
            for setting in (DISJOINT_SEEN, UNSEEN)
        ),
    ),
    FastFillTable(
        name="fastfill-side-info",
        title="Side information beside the old embedding",
        about=(
            "Side information: 32 features that SimCLR learnt without labels from the "
            "old model's pictures, as in FCT."
        ),
        rows=_side_information,
    ),
    FastFillTable(
        name="fastfill-choice",
        title="What the recipes of FastFill's tables were chosen by",
        about=(
            "No test picture is in this table: seen classes are judged on three "
            "typefaces that no model trains on, unseen classes on the 200 validation "
            "characters."
        ),
        rows=_choice,
        settings=(VALIDATION_SEEN, VALIDATION_UNSEEN),
    ),
)
