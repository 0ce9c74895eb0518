"""FastFill's experiments: rows and what is expected of them."""

from __future__ import annotations

import dataclasses

from keras_bct.experiments.fastfill import claims
from keras_bct.experiments.fastfill.aligned_parts import Migration
from keras_bct.experiments.fastfill.catalogue import FastFillCatalogue
from keras_bct.experiments.fastfill.compared_maps import (
    BACKWARD,
    FCT,
    FORWARD,
    LARGE_BATCHES,
    LOW_RANK,
    MEAN,
    OURS,
    PAPER,
    PROCRUSTES,
    RESIDUAL,
    RESIDUAL_MLP,
    RIDGE,
    SCALED_ROTATION,
    SUM,
    aligned,
    backward,
    forward,
)
from keras_bct.experiments.fastfill.map_methods import Aligned, Unmapped
from keras_bct.experiments.fastfill.rows import (
    DISJOINT_SEEN,
    SEEN,
    UNSEEN,
    VALIDATION_SEEN,
    VALIDATION_UNSEEN,
    BackfillRow,
    FastFillTable,
)

PICTURES = "new-and-copies"

CLOSED_FORMS = (
    "Ridge, random",
    "Procrustes, random",
    "scaled rotation, random",
    "low rank, random",
)


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
        BackfillRow("scaled rotation, random", migration, SCALED_ROTATION),
        BackfillRow("low rank, random", migration, LOW_RANK),
        BackfillRow("Ridge, random", migration, RIDGE),
        BackfillRow("residual MLP, random", migration, RESIDUAL_MLP),
        BackfillRow("lambda, backward, random", migration, BACKWARD),
        BackfillRow("lambda, backward, class mean", migration, BACKWARD, "class mean"),
        BackfillRow("lambda, forward, random", migration, FORWARD),
        BackfillRow("lambda, forward, class mean", migration, FORWARD, "class mean"),
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


def _ablation(catalogue: FastFillCatalogue) -> tuple[BackfillRow, ...]:
    migration = Migration(catalogue.old(), catalogue.new(), PICTURES)
    unit = {"unit_length": True}
    on_h = {"base": "none", "dropout": 0.0, "warm_up_epochs": 2}
    maps = (
        ("L_l2 (FCT)", FCT),
        ("L_l2 + L_disc", aligned({"uncertainty": "none"})),
        ("L_l2, uncertainty", aligned({"discriminative_weight": 0.0})),
        ("FastFill", MEAN),
        ("FastFill, batches of 1024", Aligned(LARGE_BATCHES)),
        ("FastFill, a variance a component", aligned({"uncertainty": "components"})),
        ("FastFill, prototypes", Aligned(PAPER, prototypes=True)),
        ("FastFill, unit length", aligned(unit)),
        ("FCT, unit length", aligned(unit, FCT.recipe)),
        ("ours", RESIDUAL),
        ("ours on the paper's h", aligned(on_h, OURS)),
        ("ours, raw", aligned({"unit_length": False}, OURS)),
        ("ours, without dropout", aligned({"dropout": 0.0}, OURS)),
        ("ours, without L_disc", aligned({"discriminative_weight": 0.0}, OURS)),
        ("ours, L_disc of weight 1", aligned({"discriminative_weight": 1.0}, OURS)),
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
        ("FastFill, batches of 512", aligned({"batch_size": 512})),
        ("ours", RESIDUAL),
        ("ours, 16 epochs", aligned({"epochs": 16}, OURS)),
        ("ours, without L_disc", aligned({"discriminative_weight": 0.0}, OURS)),
        ("ours, L_disc of weight 0.2", aligned({"discriminative_weight": 0.2}, OURS)),
        ("ours, without dropout", aligned({"dropout": 0.0}, OURS)),
        ("ours, narrower", aligned({"hidden_size": 512}, OURS)),
    )
    orthogonal = (
        ("lambda, backward", BACKWARD),
        ("lambda, backward, weight 0.1", backward(contrastive_weight=0.1)),
        ("lambda, backward, weight 0.1, lambda 4", backward(bound=4.0)),
        ("lambda, backward, weight 0.01", backward(contrastive_weight=0.01)),
        ("lambda, forward", FORWARD),
        ("lambda, forward, weight 0.1", forward(contrastive_weight=0.1)),
        ("lambda, forward, weight 1", forward(contrastive_weight=1.0)),
    )
    return (
        BackfillRow("Ridge; random", migration, RIDGE),
        *(
            BackfillRow(f"{name}; class mean", migration, method, "class mean")
            for name, method in orthogonal
        ),
        *_in_both_orders(
            *((name, migration, method) for name, method in maps),
            *_without_copies(migration),
        ),
    )


def _without_copies(migration: Migration) -> tuple[tuple[str, Migration, Aligned], ...]:
    pictures = dataclasses.replace(migration, part="new")
    # As many steps on a quarter of the pairs.
    return (
        ("FastFill, no copies", pictures, aligned({"epochs": 80})),
        ("ours, no copies", pictures, aligned({"epochs": 32}, OURS)),
    )


def _in_both_orders(*fits: tuple[str, Migration, Aligned]) -> tuple[BackfillRow, ...]:
    rows = []
    for name, migration, method in fits:
        rows.append(BackfillRow(f"{name}; random", migration, method))
        if method.recipe.uncertainty != "none":
            rows.append(BackfillRow(f"{name}; sigma", migration, method, "sigma"))
    return tuple(rows)


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
            "oracle* by what a linear unit on h's output, as psi is one, says of it at "
            "best: least squares, fitted to the ranks of the very items. "
            "*lambda* is lambda-orthogonality, trained with class names: *backward* "
            "leaves the gallery as it is and takes queries and what is embedded anew "
            "through the new-to-old map, which alone is held near a rotation (lambda "
            "1); *forward* is its map for the old gallery. *Low rank* is of rank 32, "
            "half the components. Closed forms and the residual MLP predict no error "
            "and have no order of their own. "
            "**ours** is not published elsewhere: see the ablation."
        ),
        rows=_fastfill,
        claims=(
            claims.normalised_area(SEEN, "FastFill (mean), sigma", 0.97),
            claims.above(SEEN, "FastFill (mean), sigma", "FCT, random"),
            claims.not_below(
                SEEN,
                "FastFill (mean), sigma",
                ("lambda, backward, class mean", "lambda, forward, class mean"),
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
            "characters. *weight*: of lambda-orthogonality's contrastive term, 0.01 "
            "forward and 1 backward in the tables."
        ),
        rows=_choice,
        settings=(VALIDATION_SEEN, VALIDATION_UNSEEN),
    ),
)
