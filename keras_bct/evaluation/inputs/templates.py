"""Templates: several pictures of one subject, compared as one embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.text_column import MISSING

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def pool_templates(items: EmbeddingSet) -> EmbeddingSet:
    """Averages the items of each template.

    The frames of one medium (a video) are averaged first, then the media of a template,
    as IJB-C prescribes. Qualities weigh the frames of a medium, and a medium by the
    mean quality of its frames. Cosine normalises the result at use.

    An item without a template is one of its own, named as the item; one without a
    medium is a medium of its own. Items without a label are left out of a template
    that has one, and stay without a label where they are a whole template.

    Args:
        items: n items with templates, and media and qualities where known.

    Returns:
        One item per template, in the order of their names; the name is its id. Its
        camera is that of its items, and there are none where a template has several.

    Raises:
        ValueError: No templates, a template of two labels, one whose qualities are
            all zero, or one that is called as an item without a template is.

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
    labelled = items.labels != MISSING
    if not labelled.all():
        of_items = template_names(items)
        items = items.take(labelled | ~np.isin(of_items, of_items[labelled]))
    names, first, template = np.unique(
        template_names(items), return_index=True, return_inverse=True
    )
    labels = items.labels[first]
    clash = np.flatnonzero(items.labels != labels[template])
    if len(clash):
        row = clash[0]
        raise ValueError(
            "`templates` should hold items of one label each. Received: template "
            f"{str(names[template[row]])!r} with {str(labels[template[row]])!r} and "
            f"{str(items.labels[row])!r}."
        )
    weights = np.ones(len(items))
    if items.qualities is not None:
        weights = items.qualities.astype(np.float64)
    # A medium belongs to one template, so videos of two templates may share a name.
    media = np.arange(len(items))
    if items.media is not None:
        named = np.unique(items.media, return_inverse=True)[1]
        own = len(items) + media
        medium = np.where(items.media == MISSING, own, named)
        _, media = np.unique(
            np.stack([template, medium], 1), axis=0, return_inverse=True
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


def template_names(items: EmbeddingSet) -> npt.NDArray[np.str_]:
    """(n,) the template of each item; its own id where it has none.

    Raises:
        ValueError: A template is called as an item without one is.
    """
    if items.templates is None:
        return items.ids
    alone = items.templates == MISSING
    clash = np.flatnonzero(alone & np.isin(items.ids, items.templates[~alone]))
    if len(clash):
        raise ValueError(
            "`templates` should not be called as an item that has none, which is a "
            f"template of its own. Received: id {str(items.ids[clash[0]])!r} without a "
            "template, and a template of that name; give the item its template."
        )
    return np.where(alone, items.ids, items.templates)


def refuse_templates(name: str, items: EmbeddingSet) -> None:
    """Refuses a set with templates where items are taken one by one.

    Raises:
        ValueError: It has some.
    """
    if items.templates is not None:
        raise ValueError(
            f"`{name}` should be without templates: its items are taken one by one "
            "here. Received some; pool them first, by `pool_templates`."
        )


def refuse_hidden_selves(queries: EmbeddingSet, gallery: EmbeddingSet) -> None:
    """Refuses an item that is in templates of two names on the two sides.

    `exclude: [self]` goes by the names of templates: such an item would be compared
    with a mean that contains it.

    Raises:
        ValueError: There is one.
    """
    if queries.templates is None and gallery.templates is None:
        return
    shared, asking, stored = np.intersect1d(queries.ids, gallery.ids, True, True)
    left = template_names(queries)[asking]
    right = template_names(gallery)[stored]
    differ = np.flatnonzero(left != right)
    if len(differ):
        first = differ[0]
        raise ValueError(
            "`exclude: [self]` needs an item of both sides to be in templates of one "
            f"name, else it is compared with itself. Received: id "
            f"{str(shared[first])!r} in {str(left[first])!r} of the queries and in "
            f"{str(right[first])!r} of the gallery, and {len(differ) - 1} more. Name "
            "both alike, take the items out of one side, or leave `self` out."
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
