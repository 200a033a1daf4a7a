"""State of a search: what follows from the records of its journal, and its summary."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ..values import mapping, mappings, number, sequence
from .archive import Candidate, Idea, Verdict, diverse, ideas
from .strategies import Plan

SHOWN: Final = 10  # kernels, and ideas, of a report


@dataclass(frozen=True)
class Settings:
    """Settings that a search keeps, also when it goes on after a kill."""

    site: str
    board: str
    hardware: str
    digest: str  # of the problem's version
    mode: str = "benchmark"
    strategy: str = "evolve"
    seed: int = 0
    run: str = ""  # name of the search in the lineage of its submissions
    match: int = 0  # that its kernels are versions of; 0: none
    model: str = ""  # of that match, in the lineage of its submissions; "": as the proposer says


@dataclass(frozen=True)
class Budget:
    """Limits of a search. Each may be raised when it goes on."""

    rounds: int = 5
    candidates: int = 64
    device_s: float = 1_800.0
    wall_s: float = 7_200.0


@dataclass
class Batch:
    """Candidates that are sent together, under a key that the site takes once."""

    key: str
    round: int
    numbers: list[int]
    budget_s: float
    bar: float | None  # ratio of the fastest kernel; the timing of slower candidates ends early
    at: float  # Unix time of its record, which came before the first try to send it
    id: int = 0  # 0: no answer came yet
    arrived: int = 0
    is_settled: bool = False


@dataclass
class State:
    """Candidates, answers and batches of a search."""

    settings: Settings | None = None
    candidates: dict[int, Candidate] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict)  # question → ideas of its answer
    plans: dict[int, Plan] = field(default_factory=dict)  # by round
    batches: list[Batch] = field(default_factory=list)
    round: int = 0
    spent_s: float = 0.0
    elapsed_s: float = 0.0
    tokens: int = 0  # that the proposer named for its answers, as the cost
    cost_usd: float = 0.0
    faults: list[str] = field(default_factory=list)

    def take(self, record: Mapping[str, Any]) -> None:
        """Apply a record of the journal."""
        self.elapsed_s = number(record.get("elapsed_s")) or self.elapsed_s
        match record["kind"]:
            case "search":
                self.settings = Settings(**mapping(record.get("settings")))
            case "plan":
                self.plans[record["round"]] = Plan(record["kernels"], record["realisations"])
            case "answer":
                self.answers[record["question"]] = [str(one) for one in sequence(record.get("ideas"))]
                self.faults += [str(one) for one in sequence(record.get("faults"))]
                kernels = mappings(record.get("kernels"))
                # Journals of earlier versions name usage and cost with each kernel alone.
                known = usage([mapping(kept.get("origin")) for kept in kernels])
                self.tokens += record.get("tokens", known[0])
                self.cost_usd += record.get("cost_usd", known[1])
                for kept in kernels:
                    one = Candidate(**{**kept, "parents": tuple(kept["parents"]), "round": record["round"]})
                    self.candidates[one.number] = one
            case "left_out":
                self.candidates[record["number"]].left_out = record["reason"]
            case "batch":
                fields = {name: record[name] for name in ("key", "round", "numbers", "budget_s", "bar", "at")}
                self.batches.append(Batch(**fields))
            case "sent":
                self.batches[-1].id = record["id"]
            case "dropped":
                self.batches.pop()
            case "verdict":
                self.candidates[record["number"]].verdict = Verdict.read(record["verdict"])
                self.batches[-1].arrived = max(self.batches[-1].arrived, record["arrival"])
            case "settled":
                self.batches[-1].is_settled = True
                self.spent_s += record["spent_s"]
            case "round":
                self.round = record["round"] + 1

    @property
    def open_batch(self) -> Batch | None:
        return self.batches[-1] if self.batches and not self.batches[-1].is_settled else None

    @property
    def sent(self) -> int:
        return sum(len(batch.numbers) for batch in self.batches)

    def waiting(self) -> list[Candidate]:
        """Return the candidates that are neither sent nor left out."""
        sent = {number for batch in self.batches for number in batch.numbers}
        return [one for one in self.candidates.values() if one.number not in sent and not one.left_out]

    def before(self, round: int) -> list[Candidate]:
        """Return the candidates of the rounds before this one, which its plan follows from."""
        return [one for one in self.candidates.values() if one.round < round]

    def best(self) -> list[Candidate]:
        """Return the archive: the fastest correct kernels of different kinds, fastest first."""
        return diverse(self.candidates.values())

    def ideas(self) -> list[Idea]:
        return sorted(ideas(list(self.candidates.values())), key=lambda one: -one.speedup)


def usage(origins: Sequence[Mapping[str, Any]]) -> tuple[int, float]:
    """Return the tokens and the US dollars of these origins."""
    tokens = sum(int(number(value) or 0) for one in origins for value in mapping(one.get("usage")).values())
    return tokens, sum(number(one.get("cost_usd")) or 0.0 for one in origins)


def summary(state: State) -> dict[str, Any]:
    """Return the result of a search for programs."""
    return {
        "settings": asdict(state.settings) if state.settings else {},
        "rounds": max(0, state.round - 1),
        "candidates": state.sent,
        "left_out": sum(bool(one.left_out) for one in state.candidates.values()),
        "outcomes": outcomes(state.candidates.values()),
        "device_s": round(state.spent_s, 3),
        "elapsed_s": round(state.elapsed_s, 3),
        "tokens": state.tokens,
        "cost_usd": round(state.cost_usd, 6),
        "faults": len(state.faults),
        "best": [kernel(one) for one in state.best()[:SHOWN]],
        "ideas": [asdict(one) for one in state.ideas()[:SHOWN]],
        "by_round": by_round(state),
    }


def kernel(one: Candidate) -> dict[str, Any]:
    verdict = one.verdict
    return {
        "candidate": one.number,
        "round": one.round,
        "submission": verdict.submission if verdict else None,
        "ratio": one.ratio,
        "half_width": verdict.half_width if verdict else None,
        "idea": one.idea,
        "parents": list(one.parents),
        "model": one.origin.get("model"),
    }


def by_round(state: State) -> list[dict[str, Any]]:
    """Return the candidates of each round by outcome, and the best ratio until its end."""
    rounds, best, found = defaultdict[int, list[Candidate]](list), None, list[dict[str, Any]]()
    for one in state.candidates.values():
        rounds[one.round].append(one)
    for round, mine in sorted(rounds.items()):
        best = min(filter(None, (best, *(one.ratio for one in mine))), default=None)
        judged = sum(bool(one.verdict) for one in mine)
        found.append({"round": round, "candidates": judged, "outcomes": outcomes(mine), "best_ratio": best})
    return found


def outcomes(candidates: Any) -> dict[str, int]:
    """Count judged candidates by outcome; a correct kernel that a rule holds counts as held."""
    found = (one.verdict for one in candidates if one.verdict)
    return dict(Counter("held" if one.held_by and one.outcome == "passed" else one.outcome for one in found))
