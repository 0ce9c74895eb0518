import numpy as np

from keras_bct.evaluation.engine.moves import Moves


def test_moves_that_have_room_for_a_tile_stay_where_they_are():
    moves = Moves.none_yet(rows=2, items=800)

    assert moves.columns.shape == (2, 100)
    assert moves.with_room(100) is moves


def test_more_room_keeps_the_moves_that_were_made():
    moves = Moves.none_yet(rows=2, items=8)
    moves.made[:] = 1, 60
    moves.columns[1, :60] = np.arange(60)
    moves.before[1, :60] = 3
    moves.after[1, :60] = 4

    larger = moves.with_room(200)

    assert larger.columns.shape == larger.before.shape == larger.after.shape
    assert larger.columns.shape == (2, 260)
    assert larger.made.tolist() == [1, 60]
    assert larger.columns[1, :60].tolist() == list(range(60))
    assert set(larger.before[1, :60]) == {3}
    assert set(larger.after[1, :60]) == {4}
