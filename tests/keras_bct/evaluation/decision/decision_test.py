import dataclasses

import numpy as np
import pytest

from keras_bct.evaluation import Comparison, Gate, MetricComparison, decide


def metric(difference, spread, gain=0.5, identities=100):
    """A metric whose 90 % interval is the difference plus or minus 0.9 spread."""
    steps = np.linspace(-1, 1, 2001)
    return MetricComparison(
        old_old=0.6,
        new_old=0.6 + difference,
        new_new=None,
        paragon=None if gain is None else 0.9,
        gain=gain,
        gain_undefined="" if gain is not None else "no paragon was named",
        difference_replicates=difference + spread * steps,
        gain_replicates=None if gain is None else gain + spread * steps,
        negative_flips=None,
        identities=identities,
    )


def comparison(**metrics):
    return Comparison(
        protocol="test",
        gate_metrics=tuple(metrics)[:1],
        confidence=0.9,
        min_gain=None,
        metrics=metrics,
        counts={},
        warnings=(),
    )


def test_yes_when_the_interval_lies_above_zero():
    decision = decide(comparison(a=metric(0.1, 0.1)))

    assert decision.answer == "yes"
    assert decision.identities_needed is None
    assert len(decision.reasons) == 1
    for number in ("0.7000", "0.6000", "+0.1000", "90 %", "+0.0100", "+0.1900", "100"):
        assert number in decision.reasons[0]


def test_no_when_the_interval_does_not_reach_above_zero():
    assert decide(comparison(a=metric(-0.1, 0.1))).answer == "no"
    assert decide(comparison(a=metric(0.0, 0.0))).answer == "no"


@pytest.mark.parametrize(("difference", "leaning"), [(0.1, "yes"), (-0.1, "no")])
def test_undecided_says_how_many_identities_would_do(difference, leaning):
    decision = decide(comparison(a=metric(difference, 0.2)))

    assert decision.answer == "undecided"
    # The interval reaches 0.18 where it may reach 0.1: 100 * 1.8 ** 2 identities.
    assert decision.identities_needed == pytest.approx(324, abs=1)
    assert f"probably with the answer {leaning}" in decision.reasons[0]


def test_undecided_without_any_difference_cannot_be_helped():
    decision = decide(comparison(a=metric(0.0, 0.2)))

    assert decision.answer == "undecided"
    assert decision.identities_needed is None
    assert "no practicable number" in decision.reasons[0]


def test_confidence_decides():
    numbers = comparison(a=metric(0.1, 0.106))

    assert decide(numbers, confidence=0.9).answer == "yes"
    assert decide(numbers, confidence=0.99).answer == "undecided"
    assert decide(numbers, Gate(confidence=0.99)).answer == "undecided"
    with pytest.raises(ValueError, match="`confidence`"):
        decide(numbers, confidence=1.0)


def with_replicates(measured, **changes):
    return comparison(a=dataclasses.replace(measured, **changes))


class TestTooLittleToSayYes:
    @pytest.mark.parametrize(("identities", "answer"), [(4, "undecided"), (5, "yes")])
    def test_identities_that_may_all_fare_better_by_chance(self, identities, answer):
        # Five of five do so once in 32 times; 90 % leaves once in 20 for that end.
        decision = decide(comparison(a=metric(0.3, 0.1, identities=identities)))

        assert decision.answer == answer
        assert decision.identities_needed == (5 if answer == "undecided" else None)

    def test_one_identity_whose_interval_is_a_point(self):
        assert decide(comparison(a=metric(0.3, 0, identities=1))).answer == "undecided"

    @pytest.mark.parametrize(
        ("confidence", "answer"), [(0.99, "yes"), (0.9995, "undecided")]
    )
    def test_replicates_none_of_which_lies_beyond_the_end(self, confidence, answer):
        decision = decide(comparison(a=metric(0.3, 0.1)), confidence=confidence)

        assert decision.answer == answer
        assert ("it needs 4000" in decision.reasons[0]) == (answer == "undecided")

    @pytest.mark.parametrize(("missing", "answer"), [(100, "yes"), (101, "undecided")])
    @pytest.mark.parametrize("column", ["difference_replicates", "gain_replicates"])
    def test_replicates_without_a_value(self, column, missing, answer):
        replicates = getattr(metric(0.3, 0.1), column)
        replicates[:missing] = np.nan
        numbers = with_replicates(metric(0.3, 0.1), **{column: replicates})

        assert decide(numbers, min_gain=0.2).answer == answer


class TestEveryMetricMustPass:
    gate = Gate(metrics=("a", "b"), confidence=0.9)

    @pytest.mark.parametrize(
        ("difference", "answer"), [(0.2, "yes"), (0.05, "undecided"), (-0.2, "no")]
    )
    def test_the_worst_answer_counts(self, difference, answer):
        numbers = comparison(a=metric(0.2, 0.1), b=metric(difference, 0.1))
        decision = decide(numbers, self.gate)

        assert decision.answer == answer
        assert len(decision.reasons) == 2

    def test_a_no_beats_an_undecided(self):
        numbers = comparison(a=metric(0.05, 0.1), b=metric(-0.2, 0.1))

        assert decide(numbers, self.gate).answer == "no"

    def test_without_a_gate_that_of_the_protocol_counts(self):
        numbers = comparison(a=metric(0.2, 0.1), b=metric(-0.2, 0.1))

        assert decide(numbers).answer == "yes"

    def test_a_gate_that_asks_for_nothing_is_not_passed(self):
        silent = dataclasses.replace(comparison(a=metric(0.1, 0.1)), gate_metrics=())

        with pytest.raises(ValueError, match="metrics that its gate reads"):
            decide(silent)

    def test_a_metric_that_was_not_measured_is_refused(self):
        with pytest.raises(ValueError, match="'b', measured: a"):
            decide(comparison(a=metric(0.2, 0.1)), self.gate)


class TestLeastGain:
    @pytest.mark.parametrize(
        ("asked", "answer"), [(0.3, "yes"), (0.55, "undecided"), (0.7, "no")]
    )
    def test_the_interval_of_the_gain_decides(self, asked, answer):
        decision = decide(comparison(a=metric(0.3, 0.1)), min_gain=asked)

        assert decision.answer == answer
        assert len(decision.reasons) == 2
        assert f"{asked:.4f}" in decision.reasons[1]

    def test_without_a_paragon_it_is_refused(self):
        decision = decide(comparison(a=metric(0.3, 0.1, gain=None)), min_gain=0.1)

        assert decision.answer == "no"
        assert "no paragon was named" in decision.reasons[1]

    def test_the_gate_may_ask_for_it(self):
        numbers = comparison(a=metric(0.3, 0.1))

        assert decide(numbers, Gate(confidence=0.9, min_gain=0.7)).answer == "no"


class TestABaselineNoBetterThanChance:
    """What exceeds a baseline that finds nothing proves nothing."""

    def metric(self, old_old, chance, spread=0.009):
        steps = np.linspace(-1, 1, 2001)
        return dataclasses.replace(
            metric(0.5, 0.1),
            old_old=old_old,
            old_old_replicates=old_old + spread * steps,
            chance=chance,
        )

    def test_is_refused_with_the_likely_reason(self):
        # 0.0108 with 90 % interval [0.0027, 0.0189]; chance is 0.0104.
        decision = decide(comparison(**{"retrieval/mAP": self.metric(0.0108, 0.0104)}))
        assert decision.answer == "no"
        assert "[0.0027, 0.0189] is no better than chance (0.0104)" in str(decision)
        assert "were not made by the model that embeds the old queries" in str(decision)

    @pytest.mark.parametrize(
        ("name", "old_old", "chance", "answer"),
        [
            ("retrieval/mAP", 0.02, 0.0104, "yes"),
            ("retrieval/mAP", 0.0186, 0.0104, "yes"),
            ("retrieval/mAP", 0.0184, 0.0104, "no"),
            ("retrieval/mAP", 0.001, 0.0104, "no"),
            ("verification/EER", 0.48, 0.5, "yes"),
            ("verification/EER", 0.495, 0.5, "no"),
            ("verification/EER", 0.6, 0.5, "no"),
        ],
    )
    def test_the_whole_interval_has_to_be_better(self, name, old_old, chance, answer):
        baseline = self.metric(old_old, chance)
        assert decide(comparison(**{name: baseline})).answer == answer

    def test_what_earlier_releases_measured_is_not_asked(self):
        earlier = dataclasses.replace(
            self.metric(0.01, 0.01), old_old_replicates=None, chance=None
        )
        assert decide(comparison(**{"retrieval/mAP": earlier})).answer == "yes"

    def test_can_be_decided_by_another_confidence(self):
        numbers = comparison(**{"retrieval/mAP": self.metric(0.0184, 0.0104)})
        assert decide(numbers, confidence=0.9).answer == "no"
        assert decide(numbers, confidence=0.8).answer == "yes"
