"""Pure: every rule that holds a result, its threshold, and the range in which a competition may set it.

A rule measures a number and holds results beyond its threshold, on the side given by `held`. Thresholds of a
competition are a JSON object of rule → number, or "off"; rules that it does not name keep the usual threshold. The
usual thresholds let honest runs pass: docs/review-rules.md has each with its figures.

A rule may be off only if it explains how a kernel got fast, never if it finds that the number cannot be believed:
a competition without these rules could let any result rank.

runner/evidence/rules.py measures the rules about a run, for the judge as for the site. The remaining rules need what
the site alone knows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from leaderboard.errors import UserError
from runner.evidence import rules

OFF: Final = "off"


@dataclass(frozen=True)
class Rule:
    """A rule that holds results. `least` and `most` bound its threshold in a competition; if equal, it is fixed."""

    id: str
    meaning: str  # the measured quantity
    look: str  # advice to the reviewer
    usual: float
    least: float
    most: float
    held: Literal["above", "below"] = "above"
    may_be_off: bool = True

    @property
    def is_fixed(self) -> bool:
        return self.least == self.most and not self.may_be_off

    def holds(self, value: float, threshold: float | None) -> bool:
        """Return whether the value is held. `threshold` None: the rule is off. nan is held: the value is unknown."""
        return rules.holds(self.held, value, threshold)

    def worse(self, one: float, other: float) -> bool:
        """Return whether the first value is farther on the held side."""
        return math.isnan(one) or (one > other if self.held == rules.ABOVE else one < other)


def _of_a_run(name: str, meaning: str, least: float, most: float, *, may_be_off: bool = True) -> Rule:
    """Return a rule that runner/evidence/rules.py measures, with the judge's threshold as the usual one."""
    rule = rules.RULES[name]
    return Rule(name, meaning, rule.look, rule.usual, least, most, held=rule.held, may_be_off=may_be_off)


def _always(name: str, meaning: str, look: str) -> Rule:
    """Return a rule that holds at any count, without a setting."""
    return Rule(name, meaning, look, 0.0, 0.0, 0.0, may_be_off=False)


_RULES: Final = (
    _of_a_run(
        "faster_than_best",
        "times faster than the best of tuned baseline and what stands of others, over all cases or in one",
        *(1.1, 10.0),
        may_be_off=False,
    ),
    _of_a_run(
        "faster_than_eager",
        "times faster than the reference as it is written; of no account where a tuned baseline is about as fast",
        *(2.0, 10_000.0),
    ),
    Rule(
        "case_faster_than_best",
        "times faster in one case than in that case any result of others that stands",
        "Look for a branch on this case's shape, or an answer kept for it.",
        *(3.0, 1.5, 100.0),
    ),
    _of_a_run("beyond_measured_ceiling", "share of the time that the host's own kernels' rates allow", *(0.5, 1.0)),
    _of_a_run("below_launch_floor", "share of the time of a kernel that does nothing", *(0.3, 1.0)),
    _of_a_run(
        "too_fast_for_precision",
        "share of the time that the fastest legal precision needs, in reach of a cheaper one",
        *(0.5, 1.0),
        may_be_off=False,
    ),
    _of_a_run(
        "cached_results",
        "time of the second call on an input, as a share of the first, over the baseline's",
        *(0.3, 0.9),
        may_be_off=False,
    ),
    _of_a_run(
        "slow_repeats",
        "time of the second call on an input, as a multiple of the first, over the baseline's",
        *(1.3, 100.0),
        may_be_off=False,
    ),
    _of_a_run(
        "cold_as_hot",
        "share that a warm cache saves it, where data fits and the slower baseline saves a tenth",
        *(0.0, 0.10),
    ),
    _of_a_run("one_case_apart", "gain over the baseline in one case, over the gain of every other", *(1.5, 100.0)),
    Rule(
        "jump_with_copy",
        "times faster than its owner's own best before, with a source half of which another entrant sent first",
        "Compare both sources side by side, and ask the owner how the step came about.",
        *(1.3, 1.05, 10.0),
    ),
    Rule(
        "similar_source",
        "share of its code that another entrant sent earlier, starters aside",
        "Compare both sources side by side; names and order mean nothing.",
        *(0.80, 0.5, 1.0),
    ),
    Rule(
        "opaque_source",
        "characters of literals that hold data where code is expected, or of a file too long to compare",
        "Unpack the literal: what does it hold, and is it run?",
        *(600.0, 200.0, 100_000.0),
    ),
    _of_a_run(
        "active_while_idle",
        "quads in which the device was busy after its calls had returned",
        *(0.0, 8.0),
        may_be_off=False,
    ),
    _of_a_run("aftermath", "share by which the baseline is slower right after it than right before", *(0.01, 0.25)),
    _of_a_run("bimodal", "distance of two groups that its calls fall into while the baseline's do not", *(0.02, 0.50)),
    Rule(
        "forgeable",
        "share of the time that the judge's own clock cannot vouch for",
        "The time is too short to be sure of: judge it again, or on larger cases.",
        *(0.80, 0.2, 1.0),
    ),
    _of_a_run("late_work", "outputs that changed after their call had returned", *(0.0, 0.0), may_be_off=False),
    _of_a_run(
        "not_certified",
        "runs in which containers could not be frozen, or a step of a call was left out",
        *(0.0, 0.0),
        may_be_off=False,
    ),
    _of_a_run(
        "beyond_hard_ceiling",
        "cases whose time no kernel on this hardware could take, though the judge let them pass",
        *(0.0, 0.0),
        may_be_off=False,
    ),
    _always(
        "figures_disagree",
        "reported figures that its own samples do not bear out",
        "Do not trust this runner before you know why: judge it again on another host.",
    ),
    _always(
        "unreadable_evidence",
        "reports whose samples cannot be read",
        "Nothing backs this number: judge it again, and look at the runner's version.",
    ),
    _always(
        "runner_finding",
        "findings of the judge that this site knows no rule for",
        "Read the judge's own sentence; the runner is newer than the site.",
    ),
)
RULES: Final[Mapping[str, Rule]] = {rule.id: rule for rule in _RULES}

Thresholds = rules.Thresholds
USUAL: Final[Thresholds] = {rule.id: rule.usual for rule in _RULES}


def parse(data: object) -> Thresholds:
    """Return the threshold of every rule.

    Raises UserError that names `thresholds.<rule>` for a rule that is unknown, out of range or never off.
    """
    if not isinstance(data, dict):
        raise UserError("thresholds", _said(data), 'expected an object such as {"faster_than_best": 3}')
    unknown = sorted(str(name) for name in data if name not in RULES)
    if unknown:
        raise UserError(f"thresholds.{unknown[0][:64]}", unknown[0], f"no such rule; there are {', '.join(RULES)}")
    return {**USUAL, **{name: _threshold(RULES[name], value) for name, value in data.items()}}


def changed(thresholds: Thresholds) -> dict[str, Any]:
    """Return the thresholds that differ from the usual, as a competition stores them; parse() is the inverse."""
    return {name: OFF if value is None else value for name, value in thresholds.items() if value != RULES[name].usual}


def _threshold(rule: Rule, value: object) -> float | None:
    where = f"thresholds.{rule.id}"
    if value == OFF:
        if not rule.may_be_off:
            raise UserError(where, OFF, "this rule cannot be off: it says whether a number can be believed")
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(where, _said(value), _expected(rule))
    if not rule.least <= value <= rule.most:
        raise UserError(where, value, _expected(rule))
    return float(value)


def _expected(rule: Rule) -> str:
    if rule.is_fixed:
        return "there is nothing to set: this rule holds whenever it finds anything"
    return f"expected a number from {rule.least:g} to {rule.most:g}" + (' or "off"' if rule.may_be_off else "")


def _said(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else type(value).__name__
