"""Relevance: which gallery items belong to a query, and which do not count for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.text_column import MISSING

Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Members:
    """The gallery items of each query's label, for some queries.

    Attributes:
        offsets: (rows + 1,) int64 into the other columns.
        rows: (members,) int64, the query of each pair, counted from the first row.
        columns: (members,) int64, gallery items.
        kept: (members,) bool, False for excluded pairs.
    """

    offsets: Integers
    rows: Integers
    columns: Integers
    kept: npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class Relevance:
    """Who belongs to whom.

    Attributes:
        identities: Names of the labels of both sides, sorted.
        query_codes: (m,) int64 into `identities`.
        gallery_codes: (n,) int64 into `identities`.
        kept_members: (m,) int64, relevant gallery items of each query.
    """

    identities: npt.NDArray[np.str_]
    query_codes: Integers
    gallery_codes: Integers
    kept_members: Integers
    _order: Integers
    _starts: Integers
    _own: Integers | None
    _cameras: tuple[Integers, Integers] | None

    @classmethod
    def of(
        cls, queries: EmbeddingSet, gallery: EmbeddingSet, exclude: Sequence[str]
    ) -> Relevance:
        """Joins the labels of two sets.

        Args:
            queries: m items.
            gallery: n items.
            exclude: `self` and `same_camera`; junk is left out before. An item
                whose camera is not known is of no one's camera.

        Raises:
            ValueError: A camera rule without cameras, or an id that has one label as
                a query and another one in the gallery.
        """
        identities, codes = np.unique(
            np.concatenate([queries.labels, gallery.labels]), return_inverse=True
        )
        codes = codes.astype(np.int64)
        query_codes, gallery_codes = codes[: len(queries)], codes[len(queries) :]
        own = None
        if "self" in exclude:
            own = _own_items(queries, gallery)
            clash = (own >= 0) & (gallery_codes[own] != query_codes)
            if clash.any():
                row = int(np.flatnonzero(clash)[0])
                raise ValueError(
                    "an id should have one label on both sides. Received: "
                    f"{str(queries.ids[row])!r} is {str(queries.labels[row])!r} in "
                    f"`queries` and {str(gallery.labels[own[row]])!r} in `gallery`."
                )
        cameras = None
        if "same_camera" in exclude:
            if queries.cameras is None or gallery.cameras is None:
                raise ValueError(
                    "`exclude: [same_camera]` needs cameras on both sides. Received "
                    "a side without; name its `camera` in the protocol. A side has "
                    "none either where a template has several."
                )
            _, camera_codes = np.unique(
                np.concatenate([queries.cameras, gallery.cameras]), return_inverse=True
            )
            asking, stored = camera_codes[: len(queries)], camera_codes[len(queries) :]
            cameras = (np.where(queries.cameras == MISSING, -1, asking), stored)
        order = np.argsort(gallery_codes, kind="stable")
        counts = np.bincount(gallery_codes, minlength=len(identities))
        starts = np.concatenate([[0], np.cumsum(counts)])
        relevance = cls(
            identities,
            query_codes,
            gallery_codes,
            counts[query_codes],
            order,
            starts,
            own,
            cameras,
        )
        if own is not None or cameras is not None:
            relevance.kept_members[:] = relevance._count_kept()
        return relevance

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """(m,) whether the gallery holds an item of the query's label, kept or not."""
        return np.diff(self._starts)[self.query_codes] > 0

    def members(self, rows: slice) -> Members:
        """The gallery items of the labels of some queries."""
        codes = self.query_codes[rows]
        counts = np.diff(self._starts)[codes]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        row = np.repeat(np.arange(len(codes)), counts)
        place = np.arange(offsets[-1]) - offsets[row] + self._starts[codes][row]
        columns = self._order[place]
        excluded = self.excluded(row + (rows.start or 0), columns)
        return Members(offsets, row, columns, ~excluded)

    def excluded(self, rows: Integers, columns: Integers) -> npt.NDArray[np.bool_]:
        """(pairs,) whether each pair does not count.

        Args:
            rows: (pairs,) queries.
            columns: (pairs,) gallery items of their labels.
        """
        excluded = np.zeros(len(rows), bool)
        if self._own is not None:
            excluded |= columns == self._own[rows]
        if self._cameras is not None:
            excluded |= self._cameras[0][rows] == self._cameras[1][columns]
        return excluded

    def take_queries(self, rows: Integers) -> Relevance:
        """The relevance of some queries to the same gallery."""
        cameras = self._cameras
        return dataclasses.replace(
            self,
            query_codes=self.query_codes[rows],
            kept_members=self.kept_members[rows],
            _own=None if self._own is None else self._own[rows],
            _cameras=None if cameras is None else (cameras[0][rows], cameras[1]),
        )

    @property
    def others(self) -> Integers:
        """(m,) gallery items of other labels than the query's."""
        members = np.diff(self._starts)[self.query_codes]
        return np.asarray(len(self.gallery_codes) - members)

    def impostors(self) -> int:
        """How many pairs of a query and a gallery item have two labels."""
        return int(self.others.sum())

    def _count_kept(self) -> Integers:
        counts = np.empty(len(self.query_codes), np.int64)
        block = 4096
        for start in range(0, len(counts), block):
            members = self.members(slice(start, start + block))
            counts[start : start + block] = np.bincount(
                members.rows[members.kept], minlength=len(members.offsets) - 1
            )
        return counts


def _own_items(queries: EmbeddingSet, gallery: EmbeddingSet) -> Integers:
    """(m,) the gallery item with the query's id, or -1."""
    order = np.argsort(gallery.ids, kind="stable")
    place = np.searchsorted(gallery.ids[order], queries.ids)
    item = order[np.minimum(place, len(order) - 1)]
    return np.where(gallery.ids[item] == queries.ids, item, -1)
