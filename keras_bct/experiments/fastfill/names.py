"""The names of FastFill's experiments, to be had without importing them."""

FASTFILL_NAMES = (
    "fastfill",
    "fastfill-ablation",
    "fastfill-bias",
    "fastfill-disjoint",
    "fastfill-side-info",
    "fastfill-choice",
)
