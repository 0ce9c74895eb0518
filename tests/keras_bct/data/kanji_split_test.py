from keras_bct.data import glyphs
from keras_bct.data.kanji_split import choose_split, load_split


def test_parts_have_the_published_sizes():
    split = load_split()
    assert len(split.train) == 600
    assert len(split.train_old) == 300
    assert len(split.validation) == 200
    assert len(split.test) == 600


def test_no_character_is_in_two_parts():
    split = load_split()
    assert len({*split.train, *split.validation, *split.test}) == 1400


def test_old_model_knows_the_first_half_of_the_training_characters():
    split = load_split()
    assert split.train_old == split.train[:300]


def test_a_sixth_of_the_evaluated_characters_have_no_mate():
    split = load_split()
    assert len(split.queries_only & set(split.test)) == 100
    assert len(split.queries_only & set(split.validation)) == 33
    assert not split.queries_only & set(split.train)


def test_embedded_set_holds_exactly_the_split():
    split = load_split()
    everything = {*split.train, *split.validation, *split.test}
    assert everything == set(glyphs.load().characters)


def test_choice_depends_on_the_seed_alone():
    characters = [chr(0x4E00 + n) for n in range(2000)]
    assert choose_split(characters, seed=1) == choose_split(characters, seed=1)
    assert choose_split(characters, seed=1) != choose_split(characters, seed=2)
