"""Simulated golden reports: a report of every kind, and a pair around every threshold."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from leaderboard.review.rules.findings import Known, Reported, Source, held_by, measure, read
from problems.spec import Precision
from runner.config import JudgeSettings
from runner.evidence import throttle
from runner.evidence.ceilings import Ceilings
from runner.evidence.certificate import CONTEXT_RULES
from runner.evidence.sample import Sample
from runner.evidence.schedule import CPU, GPU, A, B, I
from runner.job.confirm import confirm, fit
from runner.job.execute import OnEvent
from runner.wire import Incumbent, Job, Report
from tests.golden.simulated_runs import (
    BLANK,
    MB,
    PROBE_NS,
    Whole,
    at_the_edge,
    bounded,
    ceilings,
    check,
    cpu,
    cpu_is_well,
    evidence,
    gpu,
    grown,
    heats,
    length_ns,
    own_calls,
    queued,
    repeats,
    report,
    run,
    silent,
    timing_of,
)
from tests.runner.judge.simulated import Race, window

JSON = dict[str, Any]
Made = Iterator[tuple[str, JSON]]  # name, golden
COPY = {"read_bytes": "4 * n", "write_bytes": "4 * n"}
PRODUCT = {"flops": {"fp32": "2 * n ** 3"}}
FLAT: JSON = {"noise": 0.0005}
LONG = replace(CPU, first_look=12)  # enough quads for the rules about quads


def all_of_them() -> Made:
    """Yield all simulated goldens by name. For the first four kinds, a reviewer's page is pinned, too."""
    for kind in (passed, refused, unmeasurable, heat):
        for name, made in kind():
            yield name, made | {"page": True}
    for kind in (hardware, itself, bimodal, gaps, noise, incumbents, site, apart, bounds):
        yield from kind()


def golden(made: JSON, *boards: JSON) -> JSON:
    return {"report": made, "boards": list(boards) or [{}], "page": False}


def edge(name: str, make: Callable[[float], JSON], low: float, high: float, holds: Any, *boards: JSON) -> Made:
    for where, made in at_the_edge(make, low, high, holds):
        yield f"{name}-{where}", golden(made, *boards)


def found_by_runner(rule: str) -> Callable[[JSON], bool]:
    return lambda made: rule in [finding["rule"] for finding in made["evidence"]["findings"]]


def found_by_site(rule: str) -> Callable[[JSON], bool]:
    """Return a test whether the site itself finds the rule, with the runner's findings hidden."""

    def holds(made: JSON) -> bool:
        reported = Reported(made["ratio"], made["half_width"], 0.0, made["flags"], silent(made))
        return rule in [one.rule for one in held_by(measure(reported, Known(), Source()).measures)]

    return holds


def both(rule: str, make: Callable[[float], JSON], low: float, high: float, *boards: JSON) -> Made:
    """Yield goldens around the runner's threshold, and around the site's with the runner's findings hidden."""
    by_runner = dict(edge(f"{rule}-runner", make, low, high, found_by_runner(rule), *boards))
    yield from by_runner.items()
    for name, made in edge(f"{rule}-site", lambda at: silent(make(at)), low, high, found_by_site(rule), *boards):
        if made not in by_runner.values():
            yield name, made


# -- passed ----------------------------------------------------------------------------------------------------------


def passed() -> Made:
    hot = heats({9: grown(270, 0.3)})
    yield "passed-steady", golden(run(cpu(0.5)))
    yield "passed-noisy", golden(run(cpu(0.5, noise=0.05)))
    yield "passed-noisy-believed", golden(run(cpu(0.8, noise=0.12, seed=4)))
    yield "passed-erratic", golden(run(_erratic(1.4)))
    yield "passed-events", golden(run(gpu(0.8, profile=GPU)))
    yield "passed-events-noisy", golden(run(gpu(0.8, noise=0.015, profile=GPU)))
    yield "passed-hot-block", golden(run(gpu(0.8, heat=hot, profile=GPU)))
    yield "passed-incumbent", golden(run(cpu(0.7, incumbent=0.8)))
    yield "passed-incumbent-events", golden(run(gpu(0.7, incumbent=0.8)))
    yield "passed-test-mode", golden(report(evidence(cpu()) | {"mode": "test", "timing": []}))
    yield "passed-benchmark-mode", golden(run(cpu(1.2), mode="benchmark", tuned=True))
    for by in ("geom", "mean", "last"):
        cases = (cpu(0.5), cpu(0.8, baseline_ns=9e6, seed=2), cpu(1.1, baseline_ns=1e6, seed=3))
        yield f"passed-cases-{by}", golden(run(*cases, ranking_by=by))
    yield "passed-rules-1", golden(run(cpu(0.6, noise=0.03, rules=1), rules=1))
    older = evidence(gpu(0.8), rules=1)
    for name in ("agree_ns", "widest_half_width", "wavering", "unsteady", "believed", "noisy", "noisy_quads"):
        del older["profile"][name]
    for name in ("queued", "places", "contexts", "gaps", "copies"):
        del older["timing"][0][name]
    yield "passed-older-runner", golden(report(older))
    for rules in (5, 6):  # the older rules accuse honest calls that waver
        wavering = gpu(0.7, noise=0.02, baseline_ns=400e6, most_calls=1, profile=GPU, rules=rules)
        yield f"long-calls-that-waver-rules-{rules}", golden(run(wavering, rules=rules))
    yield "passed-not-certified", golden(run(cpu(0.8), certified=False))
    yield "passed-step-left-out", golden(run(cpu(0.8), left_out=["probe"]))
    yield "passed-no-telemetry", golden(run(gpu(0.8, level="none", heat=lambda race: window_of_nothing(race))))
    yield "passed-not-converged", golden(run(cpu(0.8, noise=0.04, profile=replace(CPU, noisy=0.0, case_budget_s=0.2))))


def window_of_nothing(race: Race) -> throttle.Window:
    began, ended = (throttle.Reading(at_ns=round(at * 1e9)) for at in (race.began_s, race.clock_s))
    return throttle.Window(began, ended)


def _erratic(apart: float, baseline: float = 0.003) -> Whole:
    """Return a race in which chance slows each block of the candidate by a factor of its own."""
    made = cpu(0.8, noise=baseline)
    made.sides[B].luck_of = lambda chance: chance.lognormvariate(0, apart)
    return made


# -- refusals and their causes ---------------------------------------------------------------------------------------


def refused() -> Made:
    for outcome, reason in (
        ("build_error", "syntax"),
        ("runtime_error", "exception"),
        ("runtime_error", "device_error"),
        ("timeout", "call"),
        ("out_of_memory", "allocation"),
        ("policy", "unfreezable"),
        ("unmeasurable", "incumbent"),
    ):
        fault = {"outcome": outcome, "reason": reason, "message": f"It ended with {reason}."}
        yield f"fault-{outcome}-{reason}", golden(report(evidence(cpu()) | {"fault": fault, "timing": []}))
    cut = evidence(cpu())
    cut["timing"][0] |= {"ended": "", "quads": cut["timing"][0]["quads"][:3]}
    fault = {"outcome": "timeout", "reason": "call", "message": "It took too long."}
    yield "fault-while-timing", golden(report(cut | {"fault": fault}))
    for reason, public in (("mismatch", True), ("nan", False), ("precision", True), ("late_write", False)):
        figures = [{"elements": 64, "different": 3, "relative_l2": 0.02, "worst_abs": 0.5}]
        bad = check(good=False, reason=reason, message="Not as it should be.", public=public, figures=figures)
        whole = evidence(cpu(), checks=[check(), bad])
        yield f"wrong-{reason}", golden(report(whole))
    spoilt = check(good=False, reason="input_changed", message="An input was changed.", outcome="policy")
    yield "policy-of-a-check", golden(run(cpu(), checks=[spoilt]))
    yield "policy-device-busy", golden(run(_busy(every=1)))
    yield "infra-nothing-timed", golden(report(evidence(cpu()) | {"timing": []}, outcome="passed"))
    yield "infra-host", golden({**BLANK.to_json(), "flags": [], "cases": [], "evidence": {"operator": "It broke."}})
    late = evidence(cpu(), checks=[check(good=True, reason="late_write")])
    yield "late-work-that-passed", golden(report(late), {})


def _busy(every: int = 0, only: tuple[int, ...] = (), most_void: float = 0.2) -> Whole:
    """Return a race whose device is busy when calls of the baseline begin in a block right after the candidate's.

    `every`: in all of these blocks. `only`: in the blocks with these numbers, counted from 1.
    """
    met: list[str] = []

    def probe(race: Race) -> float:
        after = len(race.blocks) > 6 and race.blocks[-1] == A and race.blocks[-2] == B
        if after and (not met or met[-1] != str(len(race.blocks))):
            met.append(str(len(race.blocks)))
        is_busy = after and (bool(every) or len(met) in only)
        return 900_000 if is_busy else PROBE_NS

    return gpu(0.9, probe_ns=probe, profile=replace(GPU, most_void=most_void))


def unmeasurable() -> Made:
    for name, told in (
        ("xid", {"xids": (79,)}),
        ("ecc", {"ecc_errors": 1}),
        ("lost", {"lost": True}),
        ("hw-thermal", {"mask": 0x40}),
        ("limits-changed", {"limits": {"power_limit_mw": 500_000}}),
        ("pcie", {"pcie_width": 8}),
    ):
        ends = heats({9: lambda race, told=told: window(race, **told)})  # type: ignore[misc]
        yield f"unfit-{name}", golden(run(gpu(0.8, heat=ends)))
    slowdown = heats({9: lambda race: window(race, masks=(8, 8))})
    yield "unfit-hw-slowdown", golden(run(gpu(0.8, heat=slowdown)))
    yield "unfit-in-warm-up", golden(run(gpu(0.8, heat=heats({1: lambda race: window(race, xids=(79,))}))))
    yield "unsteady", golden(run(cpu(0.9, drift=_storm)))
    yield "unsteady-rules-1", golden(run(cpu(0.9, drift=_storm, rules=1), rules=1))
    yield "below-resolution", golden(run(cpu(1.0, baseline_ns=5.0, noise=0.5)))
    yield "below-resolution-rules-1", golden(run(cpu(1.0, baseline_ns=5.0, noise=0.5, rules=1), rules=1))
    yield "below-resolution-events", golden(run(gpu(1.0, baseline_ns=0.4, noise=0.5)))
    yield from edge("idle-calls-known", _idle, 1.2, 1.9, lambda made: made["reason"] == "unsteady")
    strangers = heats({}, lambda race: window(race, strangers=int(len(race.blocks) > 5)))
    yield "voids", golden(run(gpu(0.8, heat=strangers)))
    yield "voids-rules-1", golden(run(gpu(0.8, heat=strangers, rules=1), rules=1))
    yield "self-disturbed-voids", golden(run(gpu(0.8, heat=_hot(lambda race: race.blocks[-1] == B))))
    yield "self-disturbed-wide", golden(run(_spoils(0.45)))
    for own, voids in ((9, 12), (10, 13), (28, 37)):
        yield f"voids-own-{own}-of-{voids}", golden(run(_mostly_own(own, voids)))
    yield "voids-of-one-case", golden(run(gpu(0.8), gpu(0.8, heat=strangers)))


def _storm(at: float, chance: random.Random) -> float:
    return math.exp(chance.uniform(0, 9))


def _idle(far: float) -> JSON:
    """Return a run whose work vanishes in idle calls; all of them but the fastest take `far` times as long."""
    made = cpu(1.0, baseline_ns=5.0, noise=0.1, profile=replace(CPU, most_quads=8, noisy_quads=8))
    way = 300_000.0
    made.idle = lambda side: [  # type: ignore[method-assign]
        Sample(round(way * (1.0 if n < 1 else far)) + 70_000, 40_000, 30_000, 5, 0, 55_000, 28_000) for n in range(7)
    ]
    return run(made)


def _hot(when: Callable[[Race], bool]) -> Callable[[Race], throttle.Window]:
    counter = throttle.HW_THERMAL_NS
    return lambda race: grown(counter, 0.3)(race) if len(race.blocks) > 5 and when(race) else window(race)


def _spoils(share: float) -> Whole:
    chance = random.Random(5)
    profile = replace(GPU, most_void=0.8, most_quads=12)
    return gpu(0.8, profile=profile, heat=_hot(lambda race: race.blocks[-1] == B and chance.random() < share))


def _mostly_own(own: int, voids: int) -> Whole:
    """Return a race in which all quads are void, the last `own` of `voids` on the candidate's account."""
    met: list[int] = []

    def heat(race: Race) -> throttle.Window:
        if len(race.blocks) <= 5 or race.blocks[-1] != B or race.blocks[-2] == B:
            return window(race)
        met.append(1)
        if len(met) % 2 == 0:  # a warm-up after the preceding void
            return window(race)
        return window(race, strangers=1) if len(met) // 2 < voids - own else grown(throttle.HW_THERMAL_NS, 0.3)(race)

    return gpu(0.8, heat=heat, profile=replace(GPU, most_void=0.9, first_look=voids + 1))


# -- rules: the run against rivals and the hardware ------------------------------------------------------------------


def hardware() -> Made:
    def faster(ratio: float) -> JSON:
        return run(cpu(ratio, **FLAT), cpu(1.0, seed=2, **FLAT), tuned=True)

    boards = (
        {},
        {"known": {"incumbent_ratio": 0.5}},
        {"known": {"incumbent_ratio": 2.0, "case_ratios": {"n=1": 0.8, "n=2": 0.9}}},
    )
    yield from both("faster_than_best", faster, 0.6, 0.4, *boards)
    yield from edge(
        "faster_than_best-overall",
        lambda at: run(cpu(at, **FLAT), tuned=True),
        0.6,
        0.4,
        found_by_site("faster_than_best"),
    )
    yield from edge(
        "faster_than_best-incumbent",
        lambda at: run(cpu(at, incumbent=0.9, **FLAT)),
        0.6,
        0.3,
        found_by_runner("faster_than_best"),
        *boards,
    )

    def eager(times: float) -> JSON:
        made = timing_of(cpu(0.9, **FLAT), eager_ns=times * 0.9 * 4e6)
        return run(made, tuned=True)

    yield from both("faster_than_eager", eager, 8.0, 12.0, {}, {"known": {"case_ratios": {"n=1": 0.5}}})
    slow = timing_of(cpu(1.1, **FLAT), eager_ns=60e6)
    yield "faster_than_eager-no-faster-than-tuned", golden(run(slow, tuned=True))
    yield from edge(
        "faster_than_eager-baseline-stands",
        lambda at: run(cpu(at, baseline_ns=4e7, **FLAT)),
        0.12,
        0.08,
        found_by_site("faster_than_eager"),
    )
    limits = bounded(COPY, {"n": 1 << 28}, ceilings(copy_bytes_per_s=4.2e12))
    measured, hard = (limits["cases"][0][name]["ns"] for name in ("measured", "hard"))

    def timed(base: float, found: JSON, **told: Any) -> Callable[[float], JSON]:
        return lambda share: run(gpu(1.0, baseline_ns=share * base, **FLAT), limits=found, **told)

    yield from both("beyond_measured_ceiling", timed(measured, limits), 1.02, 0.9)
    yield from edge("impossible", timed(hard, limits), 1.02, 0.95, lambda made: made["reason"] == "impossible")

    def claimed(share: float) -> JSON:
        """Return the report of a runner that passes a run although its own rules reject it."""
        made = timed(hard, limits)(share)
        whole = run(gpu(1.0, baseline_ns=share * hard, **FLAT))
        return whole | {"evidence": made["evidence"] | {"findings": []}}

    yield from edge("beyond_hard_ceiling-site", claimed, 1.02, 0.95, found_by_site("beyond_hard_ceiling"))
    floor = bounded({}, {}, ceilings(launch_ns=20_000.0))
    yield from both("below_launch_floor", timed(20_000.0, floor), 0.9, 0.7)
    product = bounded(PRODUCT, {"n": 4096}, ceilings(), Precision(("fp32",), 1e-4))
    legal = product["cases"][0]["legal"]["ns"]
    checks = [check(figures=[{"relative_l2": error} for error in (None, 3e-4)])]
    yield from both("too_fast_for_precision", timed(legal, product, checks=checks), 1.05, 0.95)
    yield "too_fast_for_precision-far", golden(timed(legal, product, checks=checks)(0.146))
    both_legal = bounded(PRODUCT, {"n": 4096}, ceilings(), Precision(("fp32", "tf32"), 1e-4))
    yield "too_fast_for_precision-legal", golden(timed(legal, both_legal, checks=checks)(0.146))
    on_cpu = Ceilings(
        "cpu", "a cpu", copy_bytes_per_s=2e10, cache_bytes_per_s=9e10, flops={"fp32": 2e11}, launch_ns=3e5
    )
    here = bounded({"read_bytes": "n", "flops": {"fp32": "n"}}, {"n": 80_000_000}, on_cpu.with_hard())
    for ratio in (1.0, 0.3):
        yield f"ceilings-cpu-{ratio}", golden(run(cpu(ratio), limits=here, tuned=True))

    def apart(ratio: float) -> JSON:
        return run(cpu(ratio, **FLAT), cpu(0.95, seed=2, **FLAT), cpu(0.9, seed=3, **FLAT))

    yield from both("one_case_apart", apart, 0.3, 0.15)
    yield "one_case_apart-others-slower", golden(run(cpu(8.0, **FLAT), cpu(0.9, seed=2, **FLAT)))
    yield from edge("wavers", lambda at: run(_wavers(at), findings=[]), 0.0, 0.6, _reads_the_median)
    yield from edge("steady", lambda at: run(_wavers(0.6, at), findings=[]), 0.2, 0.0, _reads_the_median)


def _wavers(apart: float, baseline: float = 0.0) -> Whole:
    """Return a race in which every third block is slower: the candidate's by `apart`, the baseline's by `baseline`."""
    made = cpu(0.5, noise=0.0003, profile=replace(LONG, most_quads=12, noisy_quads=12))
    for side, far in ((B, apart), (A, baseline)):
        turn = iter(range(1 << 20))
        made.sides[side].luck_of = lambda chance, far=far, turn=turn: 1.0 + far * (next(turn) % 3 == 0)  # type: ignore[misc]
    return made


def _reads_the_median(made: JSON) -> bool:
    """Return whether the site compares the candidate's median, because it wavers beside a steady baseline."""
    (found,), _ = read(made)
    assert found.cases[0].candidate is not None
    eager = next(one for one in measure(Reported(0.5, report=made), Known(), Source()).measures if one.case)
    return bool(eager.figures["time_ns"] == found.cases[0].candidate.value)


# -- rules: the run against itself -----------------------------------------------------------------------------------


def itself() -> Made:
    def again(near: bool, beside: float = 0.0, times: int = 6) -> Callable[[float], JSON]:
        def make(share: float) -> JSON:
            found = repeats(B, 2e6, share * 2e6, times, near=near, same_bits=not near)
            found += repeats(A, 2e6, beside * 2e6, times, near=near) if beside else []
            return run(timing_of(cpu(0.9), repeats=found))

        return make

    for near, name in ((False, "twice"), (True, "near")):
        yield from _renamed(both("cached_results", again(near), 0.8, 0.6), name)
        yield from _renamed(both("slow_repeats", again(near), 1.5, 2.5), name)
    yield from _renamed(both("cached_results", again(False, 0.8), 0.7, 0.4), "beside")
    yield from _renamed(both("slow_repeats", again(False, 1.3), 1.9, 3.5), "beside")
    for times in (3, 4):
        yield f"cached_results-of-{times}", golden(again(False, times=times)(0.5))

    def hot(saved: float, usual: float, times: int = 6, ratio: float = 0.8, **told: Any) -> JSON:
        found = repeats(A, 1e7, 1e7 * (1 - usual), times, hot=True) + repeats(
            B, 1e7, 1e7 * (1 - saved), times, hot=True
        )
        limits = bounded({}, {}, ceilings())
        return run(timing_of(gpu(ratio), repeats=found, **told), limits=limits)

    yield from both("cold_as_hot", lambda at: hot(at, 0.3), 0.03, 0.01)
    yield from _renamed(both("cold_as_hot", lambda at: hot(0.005, at), 0.09, 0.11), "baseline-saves")
    for times in (3, 4):
        yield f"cold_as_hot-of-{times}", golden(hot(0.0, 0.3, times))
    yield "cold_as_hot-slower", golden(hot(0.0, 0.3, ratio=1.2))
    for more in (0, 1):
        yield f"cold_as_hot-cache-{more}", golden(hot(0.0, 0.3, input_bytes=50 * MB + more))
    for times in (1, 2, 3):
        yield f"active_while_idle-{times}", golden(run(_busy(only=tuple(range(2, 2 + times)), most_void=0.5)))

    def after(quads: int) -> Callable[[float], JSON]:
        def make(share: float) -> JSON:
            made = cpu(0.9, noise=0.0005, profile=replace(CPU, first_look=quads))
            made.sides[A].model = lambda at, chance: 1.0 + share * (made.blocks[-3:-1] == [B, B])
            return run(made)

        return make

    for quads in (8, 12, 30):
        yield from edge(f"aftermath-{quads}", after(quads), 0.005, 0.02, found_by_runner("aftermath"))
    yield "aftermath-of-7", golden(after(7)(0.03))


def _renamed(made: Made, more: str) -> Made:
    for name, one in made:
        yield f"{name}-{more}", one


def bimodal() -> Made:
    holds = found_by_runner("bimodal")
    yield from edge("bimodal-apart", lambda at: run(_two(at)), 0.01, 0.03, holds)
    yield from edge("bimodal-ns", lambda at: run(_two(0.05, at)), 20_000.0, 70_000.0, holds)
    yield from edge("bimodal-cold-start", lambda at: run(_cold(at)), 0.4, 0.6, holds)
    for slow in (15, 16):
        yield f"bimodal-thawed-{slow}", golden(run(_cold(0.3, slow)))
    for others in (6, 7, 8, 9):
        yield f"bimodal-others-{others}", golden(run(_cold(0.3, 20, others)))
    for strays in (3, 4):
        yield f"bimodal-strays-{strays}", golden(run(_two(0.05, 4e6, strays)))
    for slow in (26, 27):
        yield f"bimodal-thawed-{slow}-of-34", golden(run(_cold(0.3, slow, quads=17)))
    yield "bimodal-strays-12-of-238", golden(run(_two(0.05, 4e6, 12, quads=7, calls=17)))
    for few in (19, 20, 21):
        yield f"bimodal-share-{few}", golden(run(_two(0.1, 4e6, few=few, calls=10)))
    for between in (5, 8, 9):
        yield f"bimodal-between-{between}", golden(run(_two(0.1, 4e6, between=between)))
    for quads in (5, 6):
        yield f"bimodal-of-{4 * quads}", golden(run(_two(0.1, quads=quads, calls=2)))
    yield "bimodal-slower", golden(run(_two(0.1, ratio=1.2)))


def _two(
    apart: float,
    baseline_ns: float = 4e6,
    strays: int = 0,
    *,
    few: int = 0,
    between: int = 0,
    ratio: float = 0.8,
    quads: int = 10,
    calls: int = 3,
) -> Whole:
    """Return a race whose candidate has calls of two speeds.

    `apart`: share by which slow calls are slower. `few`: number of slow calls; by default half are slow. `between`:
    number of calls half-way between the speeds. `strays`: number of slow calls of the baseline.
    """
    profile = replace(
        CPU if baseline_ns >= 1e6 else GPU,
        first_look=quads,
        most_quads=max(quads, 16),
        least_calls=calls,
        most_calls=calls,
    )
    made = cpu if baseline_ns >= 1e6 else gpu
    timed: Whole = made(ratio, baseline_ns=baseline_ns, noise=0.001, profile=profile)
    counts = {A: iter(range(1 << 20)), B: iter(range(1 << 20))}

    def theirs(at: float, chance: random.Random) -> float:
        number = next(counts[B])
        if between and number % 5 == 0 and number // 5 <= between:
            return 1.0 + apart / 2
        slow = number % 8 == 3 and number // 8 < few if few else number % 4 in (0, 3)
        return 1.0 + apart * slow

    def ours(at: float, chance: random.Random) -> float:
        number = next(counts[A])
        return 1.0 + apart * (number % 11 == 9 and number // 11 < strays)

    timed.sides[B].model, timed.sides[A].model = theirs, ours
    return timed


def _cold(longer: float, slow: int = 20, others: int = 0, quads: int = 10) -> Whole:
    """Return a race in which the first calls of `slow` blocks, and `others` of every 40 later calls, take longer."""
    timed = cpu(0.8, noise=0.001, profile=replace(CPU, first_look=quads, least_calls=3, most_calls=3))
    side = timed.sides[B]
    calls = iter(range(1 << 20))

    def model(at: float, chance: random.Random) -> float:
        number = next(calls)
        block, place = divmod(number, 3)
        is_slow = place == 0 and block % (2 * quads) < slow if place == 0 else (2 * block + place - 1) % 40 < others
        return 1.0 + longer * is_slow

    side.model = model
    return timed


# -- two clocks ------------------------------------------------------------------------------------------------------


def gaps() -> Made:
    own = own_calls(120.0, 800.0, 60.0)
    quiet: JSON = {"noise": 0.0005}
    yield "gap-one-place", golden(run(queued(gpu(0.8, **quiet), places=1)))
    for places in (7, 8):
        yield f"gap-places-{places}", golden(run(queued(gpu(0.8, **quiet), places=places, own=own), own_calls=own))
    yield "gap-nothing-known", golden(run(queued(gpu(0.8, **quiet))))
    asked = queued(gpu(0.8, **quiet))
    asked.timing["gaps"] = None
    yield "gap-nobody-asked", golden(run(asked))
    for size in (4 * MB - 1, 4 * MB, 256 * MB - 1, 256 * MB):
        made = queued(gpu(0.8, **quiet), own=own, input_bytes=size - 4096, output_bytes=4096)
        yield f"gap-size-{size}", golden(run(made, own_calls=own))
    for scatter in (2_000.0, 9_000.0):
        yield (
            f"gap-noisy-{scatter:.0f}",
            golden(run(queued(gpu(0.8, noise=0.01, tail_ns=scatter), own=own), own_calls=own)),
        )
    yield "gap-tail", golden(run(gpu(0.8, noise=0.01, tail_ns=60_000.0)))

    def own_of(told_ns: float = 0.0, gap_ns: float = 0.0, scatter: float = 0.0, calls: int = 48) -> JSON:
        found = own_calls(told_ns, gap_ns, scatter, calls)
        return run(queued(gpu(0.8, **quiet), own=found), own_calls=found)

    def knows(name: str) -> Callable[[JSON], bool]:
        return lambda made: bool(made["evidence"]["timing"][0][name])

    def counts(made: JSON) -> bool:
        return made["evidence"]["timing"][0]["contexts"]["candidate"] > 0

    def by_context_rules(told_ns: float) -> JSON:
        found = own_calls(told_ns, 0.0, 0.0, 48)
        return run(queued(gpu(0.8, rules=CONTEXT_RULES, **quiet), own=found), own_calls=found, rules=CONTEXT_RULES)

    yield from edge("own-calls-counts", by_context_rules, 50.0, 400.0, counts)
    yield from edge("own-calls-told", lambda at: own_of(told_ns=at), 1_900.0, 2_100.0, knows("contexts"))
    yield from edge("own-calls-gap", lambda at: own_of(gap_ns=at), 2_900.0, 3_100.0, knows("gaps"))
    yield from edge("own-calls-scatter", lambda at: own_of(scatter=at), 800.0, 4_000.0, knows("gaps"))
    for calls in (31, 32):
        yield f"own-calls-{calls}", golden(own_of(100.0, 500.0, 50.0, calls))

    def copied(
        own_ns: float, theirs_ns: float, within_ns: float = 0.0, stray: float = 40.0, within_own_ns: float = 0.0
    ) -> JSON:
        chance = random.Random(8)
        copies = {
            side: [[round(ns + chance.gauss(0, stray)), 300_000] for _ in range(8)]
            for side, ns in ((A, own_ns), (B, theirs_ns))
        }
        base = own_ns + 300_000 - 70_000
        more = {A: base + within_own_ns, B: base + within_ns}
        made = gpu(0.8, copying_ns=more, **quiet)
        return run(queued(made, own=own, copies=copies, input_bytes=300 * MB, output_bytes=MB), own_calls=own)

    yield "copies-alike", golden(copied(1_300_000, 1_300_400))
    yield "copies-apart", golden(copied(1_300_000, 1_308_000, 8_000))
    yield "copies-too-far-apart", golden(copied(1_300_000, 1_360_000, 60_000))
    yield "copies-longer-than-within", golden(copied(1_300_000, 1_320_000, 2_000))
    yield "copies-stray", golden(copied(1_300_000, 1_300_400, stray=9_000.0))
    yield "copies-stray-far", golden(copied(1_300_000, 1_300_400, stray=90_000.0))
    yield "copies-elsewhere", golden(copied(1_300_000, 1_300_400, 200_000, within_own_ns=200_000))

    def mismatch(made: JSON) -> bool:
        return bool(made["reason"] == "clock_mismatch")

    def lies(told_ns: float, **given: Any) -> Whole:
        return gpu(1.0, told_by=lambda side, true: true - told_ns * (side == B), **quiet, **given)

    yield from edge("clock-mismatch", lambda at: run(lies(at)), 10_000.0, 20_000.0, mismatch)
    yield from edge("clock-mismatch-queued", lambda at: run(queued(lies(at))), 3_000.0, 9_000.0, mismatch)
    yield from edge(
        "clock-mismatch-own", lambda at: run(queued(lies(at), own=own), own_calls=own), 2_000.0, 9_000.0, mismatch
    )
    for hidden in (2_000.0, 6_000.0, 9_000.0):
        yield f"told-too-short-{hidden:.0f}", golden(run(lies(hidden)))
        yield f"told-too-short-queued-{hidden:.0f}", golden(run(queued(lies(hidden / 3))))

    def some(share: float) -> Whole:
        chance = random.Random(9)
        few = replace(GPU, most_quads=20)
        told = lambda side, true: true - 14_000 * (side == B and chance.random() < share)  # noqa: E731
        return gpu(1.0, told_by=told, profile=few, **quiet)

    yield "told-too-short-of-some", golden(run(some(0.3)))
    short = gpu(0.8, baseline_ns=40e6, noise=0.0005, profile=replace(GPU, first_look=2, most_quads=2))
    yield "gap-of-few-calls", golden(run(short))
    yield from edge(
        "turn",
        lambda at: run(gpu(0.8, idle_longer_ns=at, **quiet)),
        50_000.0,
        70_000.0,
        lambda made: made["forgeable"] > 0.55,
    )
    for turn in (245_000.0, 262_000.0):
        yield f"turn-{turn:.0f}", golden(run(gpu(0.8, idle_longer_ns=turn, **quiet)))


# -- noise and the course of a case ----------------------------------------------------------------------------------


def noise() -> Made:
    def slowed(quad: int, noise: float = 0.004) -> Callable[[float], JSON]:
        def make(share: float) -> JSON:
            made = gpu(0.9, noise=noise, profile=replace(GPU, most_calls=5, most_quads=10, warm_agree=0.9))

            def model(at: float, chance: random.Random) -> float:
                return 1.0 + share * (len([one for one in made.blocks if one]) in range(4 * quad + 1, 4 * quad + 5))

            made.sides[A].model = model
            return run(made)

        return make

    def voided(made: JSON) -> bool:
        return any(quad["void"] == "baseline_slowed" for quad in made["evidence"]["timing"][0]["quads"])

    yield from edge("baseline-slowed", slowed(7), 0.0, 0.2, voided)
    yield from edge("baseline-slowed-noisy", slowed(7, 0.06), 0.0, 0.9, voided)
    for quad in (4, 5, 6):
        yield f"baseline-slowed-in-quad-{quad}", golden(slowed(quad)(0.2))

    def is_erratic(made: JSON) -> bool:
        return "erratic" in made["flags"]

    yield from edge("erratic-apart", lambda at: run(_erratic(at)), 0.1, 1.6, is_erratic)
    yield from edge("erratic-beside", lambda at: run(_both_erratic(at)), 0.0, 1.5, is_erratic)
    yield "erratic-rules-1", golden(run(_erratic(1.4), rules=1))
    yield "erratic-beside-rules-1", golden(run(_both_erratic(0.2), rules=1))
    for quads in (2, 3):
        few = replace(CPU, first_look=quads, most_quads=quads, noisy_quads=quads, unsteady=9.0)
        yield f"quads-{quads}", golden(run(cpu(0.8, profile=few)))
    for voids in (2, 3, 4):
        heat = heats({}, _first_blocks(voids))
        yield f"voids-{voids}", golden(run(gpu(0.8, heat=heat, profile=replace(GPU, most_void=0.1))))
    yield "load-that-stays", golden(run(cpu(0.8, heat=_load(0.4), profile=replace(CPU, most_void=0.9))))
    yield (
        "clock-that-runs-backwards",
        golden(run(cpu(0.5, wall=lambda wall, race: -wall if len(race.blocks) == 9 else wall))),
    )


def _both_erratic(share: float) -> Whole:
    made = cpu(0.8, noise=0.003)
    made.sides[B].luck_of = lambda chance: chance.lognormvariate(0, 1.5)
    made.sides[A].luck_of = lambda chance: chance.lognormvariate(0, share)
    return made


def _first_blocks(voids: int) -> Callable[[Race], throttle.Window]:
    met: list[int] = []

    def heat(race: Race) -> throttle.Window:
        if len(race.blocks) > 8 and race.blocks[-2:] == [A, B] and len(met) < voids:
            met.append(1)
            return window(race, strangers=1)
        return window(race)

    return heat


def _load(share: float) -> Callable[[Race], throttle.Window]:
    def heat(race: Race) -> throttle.Window:
        if len(race.blocks) < 12:
            return cpu_is_well(race)
        ran = round(share * length_ns(race))
        return cpu_is_well(race, foreign_ns=(5_000_000_000 + ran, 8_000_000_000), waited_ns=900_000_000 + ran)

    return heat


# -- telemetry -------------------------------------------------------------------------------------------------------


def heat() -> Made:
    patient = replace(GPU, most_void=0.95, first_look=20)
    counters = (throttle.SW_THERMAL_NS, throttle.SYNC_BOOST_NS, throttle.BOARD_LIMIT_NS, throttle.RELIABILITY_NS)
    edges = [grown(counter, share) for counter in counters for share in (0.00995, 0.01005)]
    edges += [
        grown(throttle.HW_THERMAL_NS, 1e-4),
        grown(throttle.POWER_BRAKE_NS, 1e-4),
        grown(throttle.POWER_CAP_NS, 0.5),
    ]
    edges += [grown(throttle.HW_THERMAL_NS, -0.5)]
    yield "telemetry-counters", golden(run(gpu(0.9, profile=patient, heat=_each(edges))))
    masks = [_told(masks=(bit,)) for bit in (0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x100, 0x200)]
    masks += [_told(mask=1, clock_mhz=300.0), _told(masks=(4, 0)), _told(strangers=2), _told(xids=())]
    yield "telemetry-masks", golden(run(gpu(0.9, profile=patient, heat=_each(masks))))
    clocks = [_told(clock_mhz=1980.0 * share) for share in (0.899, 0.901)]
    clocks += [_told(clock_mhz=1500.0, masks=(4,)), _told(memory_mhz=2000.0), _told(counters={}), _told(clock_mhz=None)]
    clocks += [_told(mask=1, clock_mhz=1980.0 * share) for share in (0.899, 0.901)]
    yield "telemetry-clocks", golden(run(gpu(0.9, profile=patient, heat=_each(clocks))))
    xids = [_told(xids=(xid,)) for xid in (13, 31, 43, 45, 68, 109)]
    yield "telemetry-application-xid", golden(run(gpu(0.9, profile=patient, heat=_each(xids, side=A))))
    mask_only = lambda race: window(race, before={"counters": {}}, counters={}, mask=0x20 * (len(race.blocks) == 9))  # noqa: E731
    yield "telemetry-mask-only", golden(run(gpu(0.9, heat=mask_only, level="mask_only")))
    cpus = [
        _core(**{name: share})
        for name in ("foreign", "steal", "throttled")
        for share in ((0.2485, 0.2515) if name != "throttled" else (0.00995, 0.01005))
    ]
    cpus += [_core(foreign=0.6, waited=0.1), _core(foreign=0.6, grain=0.4)]
    slow = replace(CPU, most_void=0.95, load_voids=0, block_s=0.05, first_look=14, noisy_quads=48)
    yield "telemetry-cpu", golden(run(cpu(0.9, profile=slow, heat=_each(cpus, cpu_is_well))))


def _told(**told: Any) -> Callable[[Race], throttle.Window]:
    return lambda race: window(race, **told)


def _core(
    foreign: float = 0.0, steal: float = 0.0, throttled: float = 0.0, waited: float | None = None, grain: float = 0.0
) -> Callable[[Race], throttle.Window]:
    def heat(race: Race) -> throttle.Window:
        length = length_ns(race)
        found = cpu_is_well(
            race,
            foreign_ns=(5_000_000_000 + round(foreign * length), 8_000_000_000),
            foreign_grain_ns=round(grain * length),
            waited_ns=900_000_000 + round((foreign if waited is None else waited) * length),
            steal_ns=10_000_000 + round(steal * length),
            steal_grain_ns=0,
            throttled_ns=round(throttled * length),
        )
        return replace(found, before=replace(found.before, throttled_ns=0))

    return heat


def _each(
    wanted: list[Callable[[Race], throttle.Window]], well: Callable[[Race], throttle.Window] = window, side: str = B
) -> Callable[[Race], throttle.Window]:
    """Return telemetry that shows the wanted windows in turn, each in a separate block of `side`, well between them."""
    left, since = list(wanted), [0]

    def heat(race: Race) -> throttle.Window:
        since[0] += 1
        if (
            left
            and len(race.blocks) > 8
            and since[0] > 5
            and race.blocks[-1] == side
            and race.blocks[-2] != race.blocks[-1]
        ):
            since[0] = 0
            return left.pop(0)(race)
        return well(race)

    return heat


# -- confirmations ---------------------------------------------------------------------------------------------------


JOB = Job(
    attempt_id="7",
    token=3,
    lease_s=60,
    hardware="cpu",
    mode="ranked",
    submission_id="2",
    filename="ada.py",
    source="# ada's",
    problem={},
    problem_digest="sha256:0",
    incumbent=Incumbent("# ben's", "ben.py", "1"),
    runs=5,
)


def incumbents() -> Made:
    yield "record-confirmed", golden(_confirmed([0.97] * 5), {}, {"known": {"incumbent_ratio": 0.5}})
    yield "record-confirmed-four-of-five", golden(_confirmed([0.97, 0.975, 0.97, 1.001, 0.975]))
    yield "record-too-few-wins", golden(_confirmed([0.95, 0.96, 0.97, 1.02, 1.03]))
    yield "record-too-small", golden(_confirmed([0.998] * 5))
    yield "record-uncertain", golden(_confirmed([0.9, 0.999, 0.97, 0.98, 1.2]))
    yield "record-too-few-runs", golden(_confirmed([0.97] * 3))
    for by in ("mean", "last"):
        yield f"record-cases-{by}", golden(_confirmed([0.97] * 5, cases=2, ranking_by=by))
    yield "record-events", golden(_confirmed([0.97] * 5, made=gpu))
    for whose, outcome, reason in (
        ("candidate", "timeout", "call"),
        ("incumbent", "unmeasurable", "incumbent"),
        ("run", "unmeasurable", "voids"),
    ):
        fault = {"outcome": outcome, "reason": reason, "message": "It ended."}
        yield f"record-{whose}-failed", golden(_confirmed([0.97] * 5, faults={3: fault}))
    yield "record-incumbent-alone", golden(_confirmed([0.97] * 5, disturbed=(2,)))
    for shared in (2, 3):
        yield f"record-shared-{shared}", golden(_confirmed([0.97] * 5, disturbed=(2,), shared=shared))
    for voids in (1, 2, 3):
        yield f"incumbent-voids-{voids}", golden(run(gpu(0.7, incumbent=0.8, heat=_hot_incumbent(voids))))
    for runs in (2, 3, 4, 6, 7, 8, 9):
        gains = [0.99 - 0.002 * (number % 3) for number in range(runs)]
        yield f"record-summed-up-{runs}", golden(_summed_up(gains))
    for name, gain in (("within", 0.00498), ("beyond", 0.00502)):
        yield f"record-least-gain-{name}", golden(_summed_up([1 - gain] * 5))


def _confirmed(
    ratios: list[float],
    *,
    made: Callable[..., Whole] = cpu,
    cases: int = 1,
    faults: dict[int, JSON] | None = None,
    disturbed: tuple[int, ...] = (),
    shared: int = 0,
    **told: Any,
) -> JSON:
    """Return a confirmation whose runs have these ratios of the candidate's time to the incumbent's.

    `faults` and `disturbed`: by number of the judged run, from 1. A disturbed run has blocks of the incumbent in its
    first `shared` quads only.
    """
    count = iter(range(1, 99))

    def judge(job: Job, settings: JudgeSettings, on_event: OnEvent) -> Report:
        number = next(count)
        known = {"incumbent": 0.8} if job.incumbent else {}
        ratio = 0.8 * (ratios[min(number, len(ratios)) - 1] if job.source == JOB.source else 1.0)
        profile = replace(CPU if made is cpu else GPU, first_look=4, most_calls=4)
        races = [made(ratio, seed=10 * number + case, profile=profile, **FLAT, **known) for case in range(cases)]
        found = evidence(*races, **told)
        if number in (faults or {}):
            found["fault"] = (faults or {})[number]
        if number in disturbed:
            for quad in found["timing"][0]["quads"][shared:]:
                quad["blocks"] = [block for block in quad["blocks"] if block["side"] != I]
        return Report.from_json(report(found) | {"attempt_id": job.attempt_id, "token": job.token})

    settings = JudgeSettings()
    whole = confirm(replace(JOB, runs=len(ratios)), settings, lambda event: None, judge)
    found: JSON = whole.to_json()
    return found


def _hot_incumbent(voids: int) -> Callable[[Race], throttle.Window]:
    met: list[int] = []

    def heat(race: Race) -> throttle.Window:
        if len(race.blocks) > 9 and race.blocks[-2:] == [B, I] and race.blocks[-3] == A and len(met) < 2 * voids:
            met.append(1)
            return grown(throttle.HW_THERMAL_NS, 0.3)(race)
        return window(race)

    return heat


def _summed_up(ratios: list[float]) -> JSON:
    """Return a confirmation shrunk until no samples are left, with gains computed from these ratios."""
    whole = fit(Report.from_json(_confirmed(ratios)), 1).to_json()
    from runner.evidence.records import decide_differences

    gains = decide_differences([math.log(ratio) for ratio in ratios]).to_json()
    return whole | {"confirmation": whole["confirmation"] | gains}


# -- the site alone --------------------------------------------------------------------------------------------------


def site() -> Made:
    def like(share: float, own: float | None = None) -> JSON:
        known = {} if own is None else {"own_ratio": own}
        return {"known": known, "source": {"likeness": {"submission_id": 7, "share": share, "shared": 60, "of": 100}}}

    plain = run(cpu(0.9))
    ratio = plain["ratio"]
    boards: list[JSON] = [like(share) for share in (0.796, 0.804)]
    boards += [like(0.6, times * ratio) for times in (1.296, 1.304)]
    boards += [like(share, 2 * ratio) for share in (0.496, 0.5, 0.504)]
    boards += [{"source": {"opaque_chars": chars}} for chars in (597, 600, 601, 603)]
    boards += [{"reported": {"forgeable": share}} for share in (0.796, 0.804)]
    boards += [{"reported": {"flags": ["not_certified", "noisy"]}}]
    boards += [{"known": {"incumbent_ratio": times * ratio}} for times in (1.992, 2.008)]
    boards += [{"known": {"case_ratios": {"n=1": times * ratio}}} for times in (2.99, 3.01)]
    boards += [{"known": {"incumbent_ratio": 2.33, "case_ratios": {"n=1": 2.33}}}]
    for half_width in (0.02, 0.3, 1.5):
        told = 1 - 0.10 - min(half_width, 1.0) / 2
        for share in (0.9995, 1.0005):
            boards.append({"reported": {"ratio": ratio * told * share, "half_width": half_width}})
    yield "site-boards", golden(plain, *boards)
    tuned = run(cpu(0.9, seed=2), cpu(0.6, seed=3), tuned=True)
    yield (
        "site-boards-tuned",
        golden(
            tuned,
            {"known": {"incumbent_ratio": 2.0, "case_ratios": {"n=1": 2.5, "n=2": 0.8}}},
            {"known": {"incumbent_ratio": 0.7, "own_ratio": 0.8, "case_ratios": {"n=1": 0.95, "n=2": 0.65}}},
        ),
    )
    for name, finding in (
        ("cheaper-precision", {"rule": "cheaper_precision", "case": "n=1", "figures": {"relative_l2": 0.01}}),
        ("unknown", {"rule": "telepathy", "case": "n=1", "figures": {}}),
        ("without-figures", {"rule": "bimodal", "case": "n=1", "figures": {}}),
        ("not-relayed", {"rule": "opaque_source", "case": "", "figures": {}}),
    ):
        found = evidence(cpu(0.9), findings=[finding | {"sentence": "It was seen."}])
        yield f"finding-{name}", golden(report(found))
    for name, spoil in SPOILT.items():
        found = evidence(cpu(0.9))
        made = report(found)
        spoil(made["evidence"])
        yield f"unreadable-{name}", golden(made)
    nothing = run(cpu(0.9)) | {"evidence": {}}
    yield "evidence-empty", golden(nothing)
    unknown = {"rule": "telepathy", "case": "", "figures": {}, "sentence": "Seen."}
    yield "finding-long", golden(report(evidence(cpu(0.9), findings=[unknown | {"sentence": "x" * 1_200}])))
    yield "findings-too-many", golden(report(evidence(cpu(0.9), findings=[unknown] * 258)))
    seen = {"rule": "faster_than_best", "case": "n=1", "sentence": "It was seen."}
    figures = {
        "faster_than_best": {"best_ns": 9.0, "time_ns": 2.0},
        "faster_than_eager": {"eager_ns": 90.0, "time_ns": 2.0},
        "beyond_measured_ceiling": {"time_ns": 2.0, "least_ns": 3.0},
        "below_launch_floor": {"time_ns": 2.0, "launch_ns": 3.0},
        "too_fast_for_precision": {"time_ns": 2.0, "legal_ns": 3.0},
        "cached_results": {"again_over_fresh": 0.3, "baseline": 0.9},
        "slow_repeats": {"again_over_fresh": 3.3, "baseline": 1.1},
        "cold_as_hot": {"saved": 0.01},
        "one_case_apart": {"gain": 9.0, "next_gain": 2.0},
        "active_while_idle": {"quads": 3},
        "aftermath": {"slower": 0.04},
        "late_work": {"calls": 2},
        "bimodal": {"apart": 0.04},
    }
    relayed = [seen | {"rule": rule, "figures": told} for rule, told in figures.items()]
    yield "findings-relayed", golden(report(evidence(cpu(0.9), findings=relayed)))
    for blocks in (5, 6):
        profile = replace(CPU, first_look=3, most_quads=3, noisy_quads=3, unsteady=9.0)
        found = evidence(cpu(0.4, profile=profile), tuned=True)
        if blocks == 5:  # a quad that misses a block counts for neither side
            found["timing"][0]["quads"][2]["blocks"].pop()
        yield f"site-blocks-{blocks}", golden(run(cpu(0.4)) | {"evidence": found})


SPOILT: dict[str, Callable[[JSON], Any]] = {
    "no-timing": lambda run: run.pop("timing"),
    "empty-timing": lambda run: run.update(timing=[{}]),
    "no-blocks": lambda run: run["timing"][0].update(quads=[{"blocks": "no", "void": "", "charged": ""}]),
    "no-calls": lambda run: run["timing"][0]["quads"][0]["blocks"][0].update(calls=[]),
    "version": lambda run: run.update(version=99),
    "limits": lambda run: run.update(limits={"cases": 3}),
    "findings": lambda run: run.update(findings=[{}]),
}


# -- where runner and site disagree ----------------------------------------------------------------------------------


def apart() -> Made:
    """Yield goldens of wavering beside a steady baseline.

    The site compares the candidate's median, the runner its upper bound.
    """

    def wavering(make: Callable[..., Whole], baseline_ns: float, ratio: float) -> Whole:
        profile = replace(CPU if make is cpu else GPU, most_quads=8, noisy_quads=8, most_calls=5)
        made = make(ratio, baseline_ns=baseline_ns, noise=0.0005, profile=profile)
        turn = iter(range(1 << 20))
        made.sides[B].luck_of = lambda chance: 3.0 if next(turn) % 3 == 0 else 1.0
        return made

    steady = cpu(1.0, seed=2, **FLAT)
    yield "wavering-faster_than_best", golden(run(wavering(cpu, 4e6, 0.3), steady, tuned=True))
    slow = timing_of(wavering(cpu, 4e6, 0.6), eager_ns=36e6)
    yield "wavering-faster_than_eager", golden(run(slow, tuned=True))
    limits = bounded(COPY, {"n": 1 << 28}, ceilings(copy_bytes_per_s=4.2e12))
    measured, hard = (limits["cases"][0][name]["ns"] for name in ("measured", "hard"))
    for name, base in (("beyond_measured_ceiling", 0.9 * measured), ("beyond_hard_ceiling", 0.9 * hard)):
        yield f"wavering-{name}", golden(run(wavering(gpu, base, 1.0), limits=limits))
    floor = bounded({}, {}, ceilings(launch_ns=20_000.0))
    yield "wavering-below_launch_floor", golden(run(wavering(gpu, 14_000.0, 1.0), limits=floor))
    product = bounded(PRODUCT, {"n": 4096}, ceilings(), Precision(("fp32",), 1e-4))
    legal = product["cases"][0]["legal"]["ns"]
    checks = [check(figures=[{"relative_l2": 0.0}])]
    yield "wavering-too_fast_for_precision", golden(run(wavering(gpu, 0.9 * legal, 1.0), limits=product, checks=checks))
    exact = run(gpu(1.0, baseline_ns=0.5 * legal, **FLAT), limits=product, checks=checks)
    yield "too_fast_for_precision-no-error-seen", golden(exact)
    yield "wavering-one_case_apart", golden(run(wavering(cpu, 4e6, 0.12), steady, tuned=False))
    steady_sides = timing_of(wavering(cpu, 4e6, 0.5), repeats=[])
    caches = repeats(A, 1e7, 7e6, hot=True) + repeats(B, 1e7, 1e7, hot=True)
    steady_sides.timing["repeats"] = caches
    yield "wavering-cold_as_hot", golden(run(steady_sides))
    untold = run(cpu(0.45, **FLAT), tuned=True)
    del untold["evidence"]["tuned"]
    yield "tuned-left-out", golden(silent(untold))
    for name, made in (
        ("aftermath", _left_behind()),
        ("bimodal", _two(0.1)),
    ):
        yield f"silent-{name}", golden(silent(run(made)))


def _left_behind() -> Whole:
    made = cpu(0.9, noise=0.0005, profile=LONG)
    made.sides[A].model = lambda at, chance: 1.0 + 0.05 * (made.blocks[-3:-1] == [B, B])
    return made


# -- the speed of light ----------------------------------------------------------------------------------------------


def bounds() -> Made:
    """Yield problems and devices for the limits of speed_of_light.py, without a run."""
    devices: list[Any] = [None, ["H200", "NVIDIA H200"], ["X", "an unknown GPU"], ["cpu", "a cpu"]]
    devices += [
        ["gpu", f"NVIDIA {name}"]
        for name in ("B200", "H100 NVL", "H100 PCIe", "H100 80GB HBM3", "A100-SXM4-40GB", "A100-SXM4-80GB", "L4", "T4")
    ]
    devices.append(
        Ceilings(
            "cpu",
            "a cpu",
            cache_bytes=32 << 20,
            copy_bytes_per_s=2e10,
            read_bytes_per_s=3e10,
            cache_bytes_per_s=9e10,
            flops={"fp32": 2e11, "bf16_tc": 4e11},
            flops_zeros={"fp32": 3e11},
            launch_ns=3e5,
        ).to_json()
    )
    devices.append(ceilings(copy_bytes_per_s=4.2e12, flops={"bf16_tc": 7e14, "tf32": 4e14}, launch_ns=1900.0).to_json())
    works: list[JSON] = [
        {"speed_of_light": COPY, "cases": [{"n": 1 << 20}, {"n": 1 << 28}], "legal": [], "max_relative_l2": None},
        {
            "speed_of_light": PRODUCT | {"read_bytes": "8 * n ** 2", "write_bytes": "4 * n ** 2"},
            "cases": [{"n": 512}, {"n": 8192}],
            "legal": ["fp32"],
            "max_relative_l2": 1e-5,
        },
        {
            "speed_of_light": {"flops": {"fp64": "n"}},
            "cases": [{"n": 10**12}],
            "legal": ["fp64"],
            "max_relative_l2": 1e-13,
        },
        {"speed_of_light": {"flops": {"fp16_tc": "n"}}, "cases": [{"n": 10**12}], "legal": [], "max_relative_l2": None},
        {
            "speed_of_light": {"flops": {"fp8": "n", "int8": "n"}},
            "cases": [{"n": 10**12}],
            "legal": ["fp16"],
            "max_relative_l2": 0.01,
        },
        {"speed_of_light": {"read_bytes": "m"}, "cases": [{"n": 1}], "legal": [], "max_relative_l2": None},
    ]
    yield "bounds", {"bounds": [{"ceilings": device} | work for device in devices for work in works]}
