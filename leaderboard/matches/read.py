"""A match as its readers see it: the versions of both sides with their gates, and the head-to-head.

A version passes the gate *correct* if the judge passed it, and the gate *faster* if it is surely faster than the eager
reference. Two sides tie where the intervals of their best versions overlap.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from leaderboard.admissions.compiled import newest_timings
from leaderboard.judging.archive import look
from leaderboard.judging.models import FINISHED, Result
from leaderboard.matches.models import HUMAN, MACHINE, Choice, Match, Prediction, Version
from leaderboard.matches.permissions import gallery
from leaderboard.review.rules.screen import held_alone, is_unscreened
from leaderboard.standings.ranking.overall import Solved
from leaderboard.standings.read.status import SubmissionStatus, statuses_of
from leaderboard.submissions.models import Submission
from runner.evidence.feedback import Feedback, feedback
from runner.evidence.profiled import COMPUTE, MEMORY, read
from runner.wire import PROFILE

TIE: Final = "tie"
COMPILED: Final = ("built", "ran", "correct", "timed")  # stages after a successful build
MEMORIES: Final = ("memory", "cache")  # resources of the speed of light


@dataclass(frozen=True)
class Played:
    """A version with its verdict."""

    version: Version
    status: SubmissionStatus

    @property
    def number(self) -> int:
        return self.version.number

    @property
    def is_finished(self) -> bool:
        return self.status.status in FINISHED

    @property
    def is_compiled(self) -> bool:
        return self.status.stage in COMPILED or self.is_correct

    @property
    def is_correct(self) -> bool:
        return self.status.outcome == "passed"

    @property
    def solved(self) -> Solved | None:
        if not self.is_correct or self.status.ratio is None:
            return None
        return Solved(self.status.ratio, self.status.half_width, self.status.forgeable or 0.0)

    @property
    def is_faster(self) -> bool:
        return self.solved is not None and self.solved.wins(1.0)

    @property
    def passes_both(self) -> bool:
        return self.is_correct and self.is_faster

    @property
    def speedup(self) -> float | None:
        return self.solved.speedup if self.solved else None

    @property
    def reached(self) -> str:
        """The last gate that it passed: faster, correct, compiled, none, or waiting without a verdict."""
        if not self.is_finished:
            return "waiting"
        gates = {"faster": self.is_faster, "correct": self.is_correct, "compiled": self.is_compiled}
        return next((name for name, passed in gates.items() if passed), "none")


@dataclass(frozen=True)
class Side:
    """The versions of a side, in their order."""

    name: str  # HUMAN or MACHINE
    versions: tuple[Played, ...]

    @property
    def best(self) -> Played | None:
        """The fastest correct version."""
        timed = [one for one in self.versions if one.speedup]
        return max(timed, key=lambda one: one.speedup or 0.0, default=None)

    @property
    def first(self) -> Played | None:
        return self.versions[0] if self.versions else None

    @property
    def last_at(self) -> datetime | None:
        return self.versions[-1].version.created_at if self.versions else None

    @property
    def reached(self) -> str:
        """The highest gate that a version passed; "": no version."""
        order = ("faster", "correct", "compiled", "none", "waiting")
        return min((one.reached for one in self.versions), key=order.index, default="")


@dataclass(frozen=True)
class CaseFigure:
    """A timed case of a side: its time over the baseline's, with a 95 % interval."""

    ratio: float
    low: float
    high: float
    measured_us: float


@dataclass(frozen=True)
class CasePair:
    name: str
    human: CaseFigure | None
    machine: CaseFigure | None

    @property
    def winner(self) -> str:
        """HUMAN, MACHINE or TIE; "": not timed twice."""
        if self.human is None or self.machine is None:
            return ""
        return _winner((self.human.low, self.human.high), (self.machine.low, self.machine.high))


@dataclass(frozen=True)
class Measured:
    """Measurements that answer the prediction, from the human side's best version."""

    light_share: float | None  # of the speed of light, 1 at most; None: the problem declares no work
    limited_by: str  # the resource that sets the speed of light: memory, cache or an engine; "": unknown
    bound: str  # by the newest profile of a version: memory, compute, latency or occupancy; "": no profile decides
    sentence: str  # of that profile
    profile: int | None  # its submission

    @property
    def bounds(self) -> str:
        """The measured bound in the words of a prediction: of the profile, else of the speed of light."""
        if self.bound or not self.limited_by:
            return self.bound
        return MEMORY if self.limited_by in MEMORIES else COMPUTE


@dataclass(frozen=True)
class Expected:
    """A predicted speed-up beside the measured one. `number` None: the prediction of the match, beside the best."""

    number: int | None
    expected: float
    measured: float | None  # None: no verdict yet, or no correct one
    submission: int | None


@dataclass(frozen=True)
class Report:
    match: Match
    human: Side
    machine: Side
    compiled: Solved | None  # torch.compile of the reference; None: without a figure

    @property
    def prediction(self) -> Prediction | None:
        return getattr(self.match, "prediction", None)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.human, self.machine

    @property
    def result(self) -> str:
        """HUMAN, MACHINE or TIE; "": a side has no correct version yet."""
        if not (self._solved(self.human) and self._solved(self.machine)):
            return ""
        return _winner(_interval(self._solved(self.human)), _interval(self._solved(self.machine)))

    @property
    def lead(self) -> Solved | None:
        """The human side's time over the machine's, each of its best version."""
        human, machine = self._solved(self.human), self._solved(self.machine)
        return human.against(machine) if human and machine else None

    @property
    def is_waiting(self) -> bool:
        return any(not one.is_finished for side in self.sides for one in side.versions)

    @property
    def digest(self) -> str:
        """A text that changes with every new version and verdict."""
        states = ((one.version.submission_id, one.status) for side in self.sides for one in side.versions)
        rows = [(pk, status.attempt, status.status, status.outcome) for pk, status in states]
        return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]

    @property
    def is_comparable(self) -> bool:
        """Return whether both best versions were timed in one timing epoch."""
        epochs = {side.best.status.epoch for side in self.sides if side.best}
        return len(epochs) < 2

    @property
    def expectations(self) -> list[Expected]:
        found = []
        if self.prediction:
            best = self.human.best
            found.append(
                Expected(
                    None,
                    self.prediction.speedup,
                    best.speedup if best else None,
                    best.version.submission_id if best else None,
                )
            )
        return found + [
            Expected(one.number, one.version.expected, one.speedup, one.version.submission_id)
            for one in self.human.versions
            if one.version.expected is not None
        ]

    @cached_property
    def feedback(self) -> dict[str, Feedback]:
        """The stored report of each side's best version."""
        return {name: feedback(result.loaded or {}) for name, result in self._results.items()}

    @cached_property
    def held(self) -> dict[str, str]:
        """The sentence of the review rule that would hold a side's best version if it ranked. Sides without it lack."""
        results = {name: one for name, one in self._results.items() if one.loaded and is_unscreened(one)}
        found = held_alone(list(results.values()))
        return {name: found[one.pk][0].sentence for name, one in results.items() if found.get(one.pk)}

    @cached_property
    def _results(self) -> dict[str, Result]:
        """The stored result of each side's best version, with its report."""
        parts = Result.objects.select_related(
            "measurement", "attempt__submission__board__competition", "attempt__submission__board__version"
        )
        found = {}
        for side in self.sides:
            if side.best is not None:
                result = parts.get(attempt__submission=side.best.version.submission_id, attempt__is_current=True)
                result.loaded = look(result).report
                found[side.name] = result
        return found

    @property
    def cases(self) -> list[CasePair]:
        """The timed cases of both best versions, in the order of the human side's."""
        human, machine = (
            {
                one.case: CaseFigure(one.ratio, one.low, one.high, one.measured_us)
                for one in (self.feedback[name].times if name in self.feedback else ())
                if one.ratio
            }
            for name in (HUMAN, MACHINE)
        )
        return [CasePair(name, human.get(name), machine.get(name)) for name in dict.fromkeys([*human, *machine])]

    @cached_property
    def measured(self) -> Measured | None:
        """Measurements of the human side's best version; None without a correct version."""
        if HUMAN not in self.feedback:
            return None
        best = self.feedback[HUMAN]
        limited = {one.limited_by for one in best.times}
        profile = self._profile()
        found = read(look(profile).report.get("profile")) if profile else None
        return Measured(
            best.light_share,
            limited.pop() if len(limited) == 1 else "",
            found.bound if found else "",
            found.sentence if found else "",
            profile.attempt.submission_id if profile and found else None,
        )

    def _profile(self) -> Result | None:
        """Return the newest profile of a version's code."""
        digests = {one.version.submission.source_digest for one in self.human.versions}
        results = Result.objects.select_related("attempt").filter(
            attempt__is_current=True,
            attempt__submission__board=self.match.board_id,
            attempt__submission__entrant=self.match.human_id,
            attempt__submission__mode=PROFILE,
            attempt__submission__source_digest__in=digests,
        )
        return results.order_by("-pk").first()

    @staticmethod
    def _solved(side: Side) -> Solved | None:
        return side.best.solved if side.best else None


def _interval(solved: Solved | None) -> tuple[float, float]:
    """Return the ends of a ratio's interval; without one, everything."""
    if solved is None or solved.half_width is None:
        return 0.0, float("inf")
    return solved.ratio / (1 + solved.half_width), solved.ratio * (1 + solved.half_width)


def _winner(human: tuple[float, float], machine: tuple[float, float]) -> str:
    if human[1] < machine[0]:
        return HUMAN
    return MACHINE if machine[1] < human[0] else TIE


def report_on(match: Match, now: datetime) -> Report:
    [found] = reports_on([match], now)
    return found


def reports_on(matches: Sequence[Match], now: datetime) -> list[Report]:
    """Return the reports on these matches, in their order. The number of queries is fixed."""
    parts = Version.objects.filter(match__in=matches).select_related("submission").defer("submission__source")
    versions = list(parts.order_by("match_id", "side", "number"))
    statuses = statuses_of([one.submission for one in versions])
    played: dict[tuple[int, str], list[Played]] = defaultdict(list)
    for one in versions:
        played[one.match_id, one.side].append(Played(one, statuses[one.submission_id]))
    timings = newest_timings({match.board for match in matches}, now=now, finished=True)
    return [
        Report(
            match,
            Side(HUMAN, tuple(played[match.pk, HUMAN])),
            Side(MACHINE, tuple(played[match.pk, MACHINE])),
            _compiled(timings.get(match.board_id)),
        )
        for match in matches
    ]


def _compiled(timing: Any) -> Solved | None:
    return Solved(timing.ratio, timing.half_width) if timing is not None and timing.ratio is not None else None


def of_the_week(viewer: Any) -> Choice | None:
    """Return the last choice whose match this viewer finds in the gallery."""
    choices = Choice.objects.select_related("match__board__problem", "match__board__competition", "match__human")
    return choices.filter(match__in=gallery(viewer)).first()


def code_of(played: Played) -> str:
    """Return the code of a version; "": it is taken down."""
    found = Submission.objects.select_related("takedown").get(pk=played.version.submission_id)
    return "" if hasattr(found, "takedown") else found.source
