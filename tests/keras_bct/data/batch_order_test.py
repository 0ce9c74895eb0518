import collections

import numpy as np
import pytest
import tensorflow as tf

from keras_bct.data.batch_order import balanced_order, epoch_order

# 7 classes of 1 to 7 pictures.
LABELS = np.array([f"c{c}" for c in range(7) for _ in range(c + 1)])


def take(order, steps, first=0):
    return [
        order(tf.constant(step, tf.int64)).numpy().tolist()
        for step in range(first, first + steps)
    ]


def flat(batches):
    return [row for rows in batches for row in rows]


def test_epoch_has_every_picture_once():
    rows = flat(take(epoch_order(6, 4, seed=0), 6))
    epochs = [rows[start : start + 6] for start in range(0, 24, 6)]
    assert all(sorted(epoch) == list(range(6)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_batch_has_as_many_pictures_of_each_of_its_classes():
    for rows in take(balanced_order(LABELS, 12, 4, seed=0), 20):
        counts = collections.Counter(LABELS[rows].tolist())
        assert list(counts.values()) == [4, 4, 4]


def test_rare_classes_come_as_often_as_frequent_ones():
    rows = flat(take(balanced_order(LABELS, 14, 2, seed=0), 30))
    counts = collections.Counter(LABELS[rows].tolist())
    assert set(counts.values()) == {60}


def test_every_class_comes_although_a_batch_does_not_divide_them():
    # 7 classes, 3 a batch: one is left out of an epoch, another one each time.
    batches = take(balanced_order(LABELS, 6, 2, seed=0), 60)
    counts = collections.Counter(LABELS[flat(batches)].tolist())
    # 60 batches of 3 classes: each is expected 25.7 times, with 2 pictures.
    assert len(counts) == 7
    assert all(36 <= count <= 60 for count in counts.values())
    epochs = [batches[step] + batches[step + 1] for step in range(0, 60, 2)]
    assert all(len(set(LABELS[epoch])) == 6 for epoch in epochs)


def test_pictures_of_a_class_all_come_before_one_comes_again():
    rows = flat(take(balanced_order(LABELS, 14, 2, seed=0), 21))
    for label in np.unique(LABELS):
        size = int((LABELS == label).sum())
        own = [row for row in rows if LABELS[row] == label]
        for start in range(0, len(own) - size + 1, size):
            assert len(set(own[start : start + size])) == size


@pytest.mark.parametrize(
    "order",
    [epoch_order(28, 6, seed=3), balanced_order(LABELS, 6, 2, seed=3)],
    ids=["epoch", "balanced"],
)
def test_step_is_a_function_of_its_number(order):
    assert take(order, 10)[7:] == take(order, 3, first=7)


def test_seed_changes_the_order():
    one, other = (balanced_order(LABELS, 6, 2, seed=seed) for seed in (0, 1))
    assert take(one, 5) == take(balanced_order(LABELS, 6, 2, seed=0), 5)
    assert take(one, 5) != take(other, 5)


@pytest.mark.parametrize("pictures", [0, 4, -2])
def test_batch_that_is_no_multiple_is_refused(pictures):
    with pytest.raises(ValueError, match=r"`pictures_per_class` should divide"):
        balanced_order(LABELS, 6, pictures, seed=0)


def test_more_classes_than_there_are_are_refused():
    with pytest.raises(ValueError, match=r"needs 8 classes. Received: 7"):
        balanced_order(LABELS, 16, 2, seed=0)
