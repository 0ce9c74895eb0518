"""The five tables of the BCT paper (Shen et al., CVPR 2020), on the kanji."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_bct.experiments.bct.catalogue import LAMBDA, Catalogue
from keras_bct.experiments.bct.measured import Measured
from keras_bct.experiments.bct.row_measuring import COARSE_SEARCH, OF_TEMPLATES
from keras_bct.experiments.bct.table import Claim, Row, Table

VERIFICATION = "verification/TAR@FAR=0.001"
SEARCH = COARSE_SEARCH + OF_TEMPLATES
"""The paper's 1:N, a gallery of templates, where enough probes set the threshold."""
RETRIEVAL = "retrieval/mAP"


_METRICS = (RETRIEVAL, VERIFICATION, SEARCH)


def _holds(title: str, metric: str) -> Claim:
    """Eq. 2 with the lower end of the interval above zero."""
    return Claim(
        f"{title}: Eq. 2 holds with its interval by {metric}",
        (title,),
        lambda rows: rows[title][metric].answer == "yes",
    )


def _fails(title: str) -> Claim:
    return Claim(
        f"{title}: fails Eq. 2 by {VERIFICATION}, as in the paper",
        (title,),
        lambda rows: rows[title][VERIFICATION].answer == "no",
    )


def _gain(title: str, metric: str, least: float) -> Claim:
    return Claim(
        f"{title}: gain of at least {100 * least:.0f} % by {metric}",
        (title,),
        lambda rows: (rows[title][metric].gain or 0.0) >= least,
    )


def _gains_more(title: str, metric: str) -> Claim:
    return Claim(
        f"{title}: a higher gain than beta by {metric}",
        (title, "beta"),
        lambda rows: (
            (rows[title][metric].gain or 0.0) > (rows["beta"][metric].gain or 0.0)
        ),
    )


def _within(title: str, metric: str, share: float) -> Claim:
    def holds(rows: Mapping[str, Mapping[str, Measured]]) -> bool:
        numbers = rows[title][metric]
        return (
            numbers.paragon is not None
            and numbers.new_new >= (1 - share) * numbers.paragon
        )

    return Claim(
        f"{title}: at most {100 * share:.0f} % below new\\* by {metric}",
        (title,),
        holds,
    )


def _nearer(title: str, metric: str) -> Claim:
    return Claim(
        f"{title}: a better self-test than beta by {metric}",
        (title, "beta"),
        lambda rows: rows[title][metric].new_new > rows["beta"][metric].new_new,
    )


def _table1(catalogue: Catalogue) -> tuple[Row, ...]:
    old, paragon = catalogue.old(), catalogue.paragon()
    methods = ("beta", "beta-sys", "beta-kd", "l2", "lwf")
    return (
        Row("independent", paragon, old, paragon),
        *(Row(method, catalogue.new(method), old, paragon) for method in methods),
    )


def _table3(catalogue: Catalogue) -> tuple[Row, ...]:
    old = catalogue.old()
    wide = {"embedding_size": 128}

    def after(loss: str, title: str, **changes: str) -> Row:
        new = catalogue.after(loss, title, **changes)
        return Row(title, new, catalogue.old(loss))

    return (
        Row("beta, nothing else changed", catalogue.new("beta"), old),
        Row("deeper", catalogue.deep("deeper"), old),
        after("normsoftmax", "NormSoftmax to CosFace"),
        Row("128 components", catalogue.new("beta", "wide", **wide), old),
        Row("deeper, 128 components", catalogue.deep("deeper-wide", **wide), old),
        after("softmax", "Softmax to CosFace"),
        Row("ReLU on the embedding", catalogue.new("beta", "relu", relu=True), old),
        Row(
            "128 components, learned map",
            catalogue.new("beta", "size-map", size_map=True, **wide),
            old,
        ),
        after("softmax", "Softmax to CosFace, rows from means", old_rows="means"),
        Row(
            "ReLU on the embedding, learned map",
            catalogue.new("beta", "relu-map", relu=True, size_map=True),
            old,
        ),
    )


def _table4(catalogue: Catalogue) -> tuple[Row, ...]:
    first, second, third = catalogue.first(), catalogue.second(), catalogue.third()
    return (
        # No gain: an independent model of `second`'s width and characters would be its
        # paragon, and no other table needs one.
        Row("phi2 against phi1", second, first),
        Row("phi3 against phi1", third, first, catalogue.paragon()),
        Row("phi3 against phi2", third, second, catalogue.paragon()),
    )


def _table5(catalogue: Catalogue) -> tuple[Row, ...]:
    return _table1(catalogue)[:3]


def _lambda(catalogue: Catalogue) -> tuple[Row, ...]:
    old, paragon = catalogue.old(), catalogue.paragon()
    trainings: list[tuple[str, str, dict[str, Any]]] = [
        (f"{method}, lambda {weight:g}", method, {"influence_weight": weight})
        for method in ("beta", "beta-sys")
        for weight in (1.0, LAMBDA)
    ] + [
        (
            f"beta-kd, lambda {weight:g}, divergence {divergence:g}",
            "beta-kd",
            {"influence_weight": weight, "distillation_weight": divergence},
        )
        for weight, divergence in (
            (1.0, 0.25),
            (1.0, 1.0),
            (LAMBDA, 0.25),
            (LAMBDA, 1.0),
            (LAMBDA, LAMBDA),
        )
    ]
    return tuple(
        Row(name, catalogue.new(method, **weights), old, paragon)
        for name, method, weights in trainings
    )


CHOICE = Table(
    name="lambda",
    title="The choice of lambda on the validation characters",
    about=(
        "The 200 validation characters are neither trained on nor tested on. A larger "
        "lambda ties the new model closer to the old one, and leaves it less of its "
        "own; so does a larger weight of beta-kd's divergence."
    ),
    rows=_lambda,
    protocol="validation",
)
"""What chose `LAMBDA`; no table of the paper."""

TABLES = (
    Table(
        name="table1",
        title="Which trainings give a compatible model",
        about=(
            "The old model knows 300 characters, every new one 600; the test has 600 "
            "others. `independent` is new\\*, trained without any second term. In the "
            "paper independent, l2 and LwF fail Eq. 2; beta, beta-sys and beta-kd "
            "hold. The paper's 1:1 is TAR at FAR 1e-4 on IJB-C, its 1:N is TPIR at "
            "FPIR 1e-2 with a gallery of templates: read its gains beside ours, not as "
            "the same quantity. Here FPIR 0.01 lets 6 of the 600 probes without a mate "
            "set the threshold, most of them two or three characters with a near twin, "
            "so that its intervals decide nothing. What is expected of 1:N is judged "
            "at FPIR 0.1, where 60 do; that was settled after the first seed was seen."
        ),
        rows=_table1,
        claims=(
            Claim(
                "independent: under 5 % of M(old, old) by every metric",
                ("independent",),
                lambda rows: all(
                    rows["independent"][metric].new_old
                    < 0.05 * rows["independent"][metric].old_old
                    for metric in _METRICS
                ),
            ),
            *(
                _holds(title, metric)
                for title in ("beta", "beta-sys", "beta-kd")
                for metric in _METRICS
            ),
            _gain("beta", VERIFICATION, 0.26),
            _gain("beta", SEARCH, 0.45),
            *(_gains_more("beta-sys", metric) for metric in _METRICS),
            _fails("l2"),
            _fails("lwf"),
        ),
        paper={
            ("independent", VERIFICATION): "almost 0",
            ("independent", SEARCH): "almost 0",
            ("beta", VERIFICATION): "holds, gain 26.26 %",
            ("beta", SEARCH): "holds, gain 44.98 %",
            ("beta-sys", VERIFICATION): "holds, gain 30.00 %",
            ("beta-sys", SEARCH): "holds",
            ("beta-kd", VERIFICATION): "holds, gain 27.25 %",
            ("beta-kd", SEARCH): "holds",
            ("l2", VERIFICATION): "slightly above 0",
            ("l2", SEARCH): "slightly above 0",
            ("lwf", VERIFICATION): "fails",
            ("lwf", SEARCH): "fails",
        },
    ),
    Table(
        name="table2",
        title="What compatibility costs the new model itself",
        about=(
            "Each new model with the whole gallery embedded anew, beside new\\*. "
            "The interval is of M(new, new) - M(new\\*, new\\*)."
        ),
        rows=_table1,
        layout="self",
        claims=(
            *(
                _within(title, metric, 0.03)
                for title in ("beta", "beta-sys", "beta-kd")
                for metric in _METRICS
            ),
            *(
                _nearer(title, metric)
                for title in ("beta-sys", "beta-kd")
                for metric in _METRICS
            ),
        ),
        paper={
            ("beta", VERIFICATION): "less than 3 % below new\\*",
            ("beta", SEARCH): "less than 3 % below new\\*",
            ("beta-sys", VERIFICATION): "nearer than beta",
            ("beta-sys", SEARCH): "nearer than beta",
            ("beta-kd", VERIFICATION): "nearer than beta",
            ("beta-kd", SEARCH): "nearer than beta",
        },
    ),
    Table(
        name="table3",
        title="Other changes of the new model",
        about=(
            "All by beta, from 300 to 600 characters. Of 128 components the first 64 "
            "are compared with the old ones, in training and in testing. There is no "
            "gain: each architecture would need a paragon of its own. In the paper "
            "Softmax to CosFace and ReLU on the embedding fail, and a learned map of "
            "sizes had no success. The last two rows are not in the paper and answer "
            "its failures: the old classifier is replaced by the class means of the "
            "old embeddings, in CosFace's form; and a learned linear map takes the "
            "embedding, which ReLU leaves without negative components, to the old one."
        ),
        rows=_table3,
        claims=(
            *(
                _holds(title, VERIFICATION)
                for title in (
                    "deeper",
                    "NormSoftmax to CosFace",
                    "128 components",
                    "deeper, 128 components",
                )
            ),
            *(
                _fails(title)
                for title in (
                    "Softmax to CosFace",
                    "ReLU on the embedding",
                    "128 components, learned map",
                )
            ),
            _holds("Softmax to CosFace, rows from means", VERIFICATION),
            _holds("ReLU on the embedding, learned map", VERIFICATION),
        ),
        paper={
            (title, metric): says
            for metric in (VERIFICATION, SEARCH)
            for title, says in {
                "deeper": "holds",
                "NormSoftmax to CosFace": "holds",
                "128 components": "holds",
                "deeper, 128 components": "holds",
                "Softmax to CosFace": "fails",
                "ReLU on the embedding": "fails",
                "128 components, learned map": "without success",
            }.items()
        },
    ),
    Table(
        name="table4",
        title="A chain of three versions",
        about=(
            "phi1 knows 150 characters, phi2 300 and phi3 600, and each is wider than "
            "the one before. phi2 is trained by beta-sys to follow phi1, and phi3 to "
            "follow phi2; phi3 never sees phi1. The row's version embeds the queries, "
            "the column's made the gallery. The gain of phi3 takes an independent "
            "model of the 600 characters as its paragon; phi2 has none, and no gain."
        ),
        rows=_table4,
        layout="chain",
        claims=tuple(
            _holds(title, metric)
            for title in (
                "phi2 against phi1",
                "phi3 against phi1",
                "phi3 against phi2",
            )
            for metric in _METRICS
        ),
        paper={
            (title, metric): "holds"
            for metric in (VERIFICATION, SEARCH)
            for title in (
                "phi2 against phi1",
                "phi3 against phi1",
                "phi3 against phi2",
            )
        },
    ),
    Table(
        name="table5",
        title="Re-identification",
        about=(
            "Character = person, typeface = camera. The gallery holds every test "
            "picture; for each query the pictures of its own character in its own "
            "typeface are left out, as on Market-1501. The models are those of table 1."
        ),
        rows=_table5,
        protocol="reidentification",
        claims=(
            *(_holds(title, RETRIEVAL) for title in ("beta", "beta-sys")),
            *(_within(title, RETRIEVAL, 0.03) for title in ("beta", "beta-sys")),
        ),
        paper={
            ("beta", RETRIEVAL): "holds, own accuracy not sacrificed",
        },
    ),
)
