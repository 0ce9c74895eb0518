"""Templates: several pictures of one subject, compared as one embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.embedding_set import EmbeddingSet

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def pool_templates(items: EmbeddingSet) -> EmbeddingSet:
    """Averages the items of each template.

    The frames of one medium (a video) are averaged first, then the media of a template,
    as IJB-C prescribes. Qualities weigh the frames of a medium, and a medium by the
    mean quality of its frames. Cosine normalises the result at use.

    Args:
        items: n items with templates, and media and qualities where known.

    Returns:
        One item per template, in the order of their names; the name is its id. Its
        camera is that of its items, and there are none where a template has several.

    Raises:
        ValueError: No templates, a template of two labels, or one whose qualities are
            all zero.

    Example:
        A picture, and a video of two frames.

        >>> items = EmbeddingSet(
        ...     ids=list("abc"),
        ...     labels=list("xxx"),
        ...     cameras=None,
        ...     embeddings=np.array([[8.0], [1.0], [3.0]]),
        ...     templates=list("ttt"),
        ...     media=["picture", "video", "video"],
        ... )
        >>> pool_templates(items).embeddings.tolist()
        [[5.0]]
    """
    if items.templates is None:
        raise ValueError("`items` should have templates. Received a set without.")
    names, first, template = np.unique(
        items.templates, return_index=True, return_inverse=True
    )
    labels = items.labels[first]
    clash = np.flatnonzero(items.labels != labels[template])
    if len(clash):
        row = clash[0]
        raise ValueError(
            "`templates` should hold items of one label each. Received: template "
            f"{str(items.templates[row])!r} with {str(labels[template[row]])!r} and "
            f"{str(items.labels[row])!r}."
        )
    weights = np.ones(len(items))
    if items.qualities is not None:
        weights = items.qualities.astype(np.float64)
    # A medium belongs to one template, so videos of two templates may share a name.
    media = np.arange(len(items))
    if items.media is not None:
        _, media = np.unique(
            np.stack([template, np.unique(items.media, return_inverse=True)[1]], 1),
            axis=0,
            return_inverse=True,
        )
        media = media.ravel()
    rows, weight = _means(items.embeddings, media, weights)
    of_medium = np.empty(len(rows), np.int64)
    of_medium[media] = template
    pooled, total = _means(rows, of_medium, weight)
    if not total.all():
        raise ValueError(
            "`qualities` should not all be zero in a template. Received: template "
            f"{str(names[np.flatnonzero(total == 0)[0]])!r}."
        )
    return EmbeddingSet(
        names,
        labels,
        _common(items.cameras, first, template),
        pooled.astype(np.float32),
    )


def _means(
    rows: npt.NDArray[Any], group: Integers, weights: Floats
) -> tuple[Floats, Floats]:
    """The weighted mean of the rows of each group, and its mean weight."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    ordered = weights[order]
    total = np.add.reduceat(ordered, starts)
    sums = np.add.reduceat(rows[order] * ordered[:, None], starts, axis=0)
    size = np.diff(np.append(starts, len(group)))
    safe = np.where(total > 0, total, 1)
    return sums / safe[:, None], total / size


def _common(
    cameras: npt.NDArray[np.str_] | None, first: Integers, template: Integers
) -> npt.NDArray[np.str_] | None:
    if cameras is None:
        return None
    of_template = cameras[first]
    return of_template if (cameras == of_template[template]).all() else None
