"""The competition of test_contest.py with the real judge in real containers, played by hand: a quarter of an hour.

make contest [ARGS="--rehearse --ceilings FOLDER"]          or: python -m tests.e2e.real_contest …

Wants the machine for itself, and Docker. Site, queue, sweeper, daemon and judge are real; the kernels are of known
speed (contest/kernels.py), on a problem with short jobs. The checks do not hang on noise: every verdict, the reason of
every hold, the absence of held and rejected entries from all public pages, and the board by classes of speed.
`--ceilings`: figures of `runner bench` on this host in this timing epoch, a runner's RUNNER_STATE/ceilings; by default
the ceilings are measured first. `--rehearse`: one honest entrant a class.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deploy.image import ensure_image
from tests.e2e.conftest import Stage
from tests.e2e.contest import kernels
from tests.e2e.play import CASES, Play, award, decide, make_again, reveal, set_up

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(3_600)]

SET = "tests/e2e/contest/set.yaml"
CEILINGS, REHEARSE = "PHOTOFINISH_CONTEST_CEILINGS", "PHOTOFINISH_CONTEST_REHEARSE"  # how main() tells the test
LEAPER, COPIER = "emil", "ben"
LEAD, LATE_BEST = "entrant-00", "entrant-03"
TWIN, FORGER = "twin", "trudy"  # a copy of entrant-01's code with new names; clocks that run slow
PER_CLASS = (8, 8, 7, 4, 3)  # of kernels.CLASSES, after LEAD
# Entrants that gain no place: their sources, and the permitted outcome and reason.
BAD = {
    "mallory": (kernels.IMPOSSIBLE, {("policy", "impossible")}),
    "oscar": (kernels.LATE, {("wrong", "mismatch"), ("wrong", "nan"), ("policy", "late_write")}),
    "wendy": (kernels.FORGETFUL, {("wrong", "mismatch")}),
    "walter": (kernels.HALF, {("wrong", "mismatch"), ("wrong", "precision")}),
    "craig": (kernels.CRASH, {("runtime_error", "raised")}),
}
TRIES = 3  # a disturbed machine: it may be quiet next time
SENT = """
SELECT person.username, sent.id, attempt.rejudge_set_id IS NOT NULL,
       result.outcome, result.reason, result.ratio, result.half_width,
       EXTRACT(EPOCH FROM attempt.finished_at - attempt.claimed_at), attempt.id
  FROM judging_attempt AS attempt
  JOIN judging_result AS result ON result.attempt_id = attempt.id
  JOIN submissions_submission AS sent ON sent.id = attempt.submission_id
  JOIN accounts_user AS person ON person.id = sent.owner_id
 ORDER BY attempt.id
"""
HELD = """
SELECT person.username, string_agg(DISTINCT found.rule, ', ')
  FROM review_finding AS found
  JOIN judging_result AS result ON result.id = found.result_id
  JOIN judging_attempt AS attempt ON attempt.id = result.attempt_id
  JOIN submissions_submission AS sent ON sent.id = attempt.submission_id
  JOIN accounts_user AS person ON person.id = sent.owner_id
 GROUP BY person.username
"""
RECORDS = """
SELECT one.username, other.username, asked.cause, asked.outcome, asked.message,
       EXTRACT(EPOCH FROM asked.finished_at - asked.claimed_at)
  FROM confirmations_confirmation AS asked
  JOIN submissions_submission AS candidate ON candidate.id = asked.candidate_id
  JOIN submissions_submission AS incumbent ON incumbent.id = asked.incumbent_id
  JOIN accounts_user AS one ON one.id = candidate.owner_id
  JOIN accounts_user AS other ON other.id = incumbent.owner_id
 ORDER BY asked.id
"""


class RealPlay(Play):
    board_slug = "spring-polynomial"
    problem = "polynomial"
    patience_s = 900.0
    look_every_s = 0.5

    def begin_runner(self, name: str, **changes: str) -> None:
        """Start a runner with the real judge, which knows this host's ceilings."""
        state = self.stage.folder / name
        state.mkdir()
        if known := os.environ.get(CEILINGS):
            shutil.copytree(known, state / "ceilings")
        else:
            places = {"RUNNER_STATE": str(state), "RUNNER_LOCKS": str(self.stage.folder / "locks")}
            command = [sys.executable, "-m", "runner.commands.start", "bench"]
            subprocess.run(command, env={**self.stage.environment, **places}, check=True, timeout=1_200)
        super().begin_runner(name, **changes)

    def records_settled(self) -> None:
        self.settled("SELECT count(*) FROM confirmations_confirmation WHERE state NOT IN ('done', 'lost')")


@dataclass
class Story:
    """Record of events, for the table at the end."""

    classes: dict[str, str]  # of all competitors
    phases: list[tuple[str, float]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        say(f"{time.strftime('%H:%M:%S', time.gmtime())} {name}")
        yield
        self.phases.append((name, time.monotonic() - begin))

    def remark(self, text: str) -> None:
        say(f"    {text}")
        self.remarks.append(text)


def say(text: str) -> None:
    print(text, flush=True)


def honest() -> dict[str, tuple[str, str]]:
    """Honest entrants: class and source, in the order of sending."""
    found = {LEAD: ("a fifth in C", kernels.LEAD)}
    for speed, count in enumerate([1] * 5 if REHEARSE in os.environ else PER_CLASS):
        for _ in range(count):
            number = len(found)
            found[f"entrant-{number:02}"] = (kernels.CLASSES[speed], kernels.plain(speed, number))
    found[TWIN] = (kernels.CLASSES[0], kernels.plain(0, 16))  # entrant-01's but for names and comment
    found[FORGER] = (kernels.CLASSES[4], kernels.CLOCK)
    return found


def test_a_competition_with_the_real_judge(stage: Stage) -> None:
    story = Story({name: speed for name, (speed, _) in honest().items()})
    stage.manage("import_problems", SET, "--admission", "none", "--publish")
    with story.phase("ceilings of this host"):
        play = RealPlay(stage)
    try:
        played(play, story)
    finally:
        told(play, story)


def played(play: RealPlay, story: Story) -> None:
    with story.phase("setting up, admission test"):
        codes = set_up(play, 2)
    with story.phase("practice, closed"):
        practise(play, codes.pop())
    play.now("contest_at", visibility="public")
    contest(play, story)
    with story.phase("frozen: a new leader, record confirmation"):
        secrets = frozen(play)
    play.now("deadline")
    with story.phase("review, appeal"):
        decide(play, LEAPER, COPIER, *BAD, *secrets)
        assert play.board("olga", full="true")[:3] == [(1, LEAPER), (2, LATE_BEST), (3, LEAD)]
    with story.phase("judged again: all that is published"):
        judge_again(play, story)
        secrets = figures(play)
        play.hidden(COPIER, *BAD, *secrets)
    with story.phase("revealed, final"):
        reveal(play)
        assert in_order(play, story, play.board()) == in_order(play, story, play.board("olga")) == []
        play.hidden(COPIER, *BAD)
        shown = play.shown(*secrets)
        assert {word for found in shown.values() for word in found} == set(secrets), (
            "what was looked for in vain before"
        )
    with story.phase("awards, record confirmation"):
        assert award(play, confirmed_within_s=700) == [
            ("Overall", 1, LEAPER, "1000.00"),
            ("Overall", 2, LATE_BEST, "500.00"),
            ("Overall", 3, LEAD, "250.00"),
            ("Twice", 1, LEAPER, ""),
        ]
    records = play.stage.rows(RECORDS)
    assert records, "first place was taken, and no record confirmed"
    assert records[0][:4] == (LATE_BEST, LEAD, "record", "confirmed"), records
    # The board asks for this record when the review clears it. If it still waits, the prize takes it over.
    causes = {record[2] for record in records if (record[0], record[1], record[3]) == (LEAPER, LATE_BEST, "confirmed")}
    assert causes & {"record", "award"}, records


def practise(play: RealPlay, code: str) -> None:
    play.stranger.read("/competitions/spring", status=404)
    play.enter("ada", code)
    play.send("ada", kernels.plain(2, 0))
    play.judged()
    assert play.board("ada") == [(1, "ada")]
    play.hidden("ada", "spring")


def contest(play: RealPlay, story: Story) -> None:
    """The fastest honest entrant sends first, so that first place does not change hands by chance."""
    entrants = honest()
    others = [name for name in (*entrants, *BAD) if name not in play.tokens]
    with story.phase(f"contest: {len(entrants) + len(BAD) + 2} enter"):
        play.more_people(others)
        for name in [*others, LEAPER, COPIER]:
            play.enter(name)
    with story.phase("contest: honest ones, near-ties, a forged clock"):
        for name, (_, source) in entrants.items():
            play.send(name, source)
        play.judged()
        timed_at_last(play, story, {name: source for name, (_, source) in entrants.items()})
    with story.phase("contest: a jump, a copy, wrong ones, an impossible one"):
        play.send(LEAPER, kernels.LEAP)
        play.send(COPIER, kernels.COPY)
        for name, (source, _) in BAD.items():
            play.send(name, source)
        play.judged()
        timed_at_last(play, story, {LEAPER: kernels.LEAP, COPIER: kernels.COPY})
    held = {name: set(rules.split(", ")) for name, rules in play.stage.rows(HELD)}
    for name, (_, expected) in BAD.items():
        found = last_verdict(play, name)
        if found == ("passed", "") and held.get(name, set()) & {"beyond_hard_ceiling", "beyond_measured_ceiling"}:
            # Its median is impossible, but its time is short beside the cost of a call, and its interval is wide.
            story.remark(f"{name}: held by {sorted(held[name])}, rejected by a reviewer")
            case = dict(play.stage.rows(CASES))[name]
            play.rosa.fill(f"/review/{case}", "/reject", code="special_case", reason="It knows the sixteen levels.")
            continue
        assert found in expected, f"{name}: {found}"
    assert "faster_than_best" in held.get(LEAPER, ()), held
    assert held.get(COPIER) == {"similar_source"}, held
    with story.phase("contest: everything public is looked at"):
        play.hidden(LEAPER, COPIER, *BAD)
    clear_honest(play, story, set(held) - {LEAPER, COPIER, *BAD})
    ranked = play.board()
    assert ranked == play.board("olga")
    assert {name for _, name in ranked} == set(entrants)
    assert in_order(play, story, ranked) == []


def timed_at_last(play: RealPlay, story: Story, sources: dict[str, str]) -> None:
    """A noisy machine leaves some kernels without a time: these are sent again."""
    for _ in range(TRIES - 1):
        again = [name for name in sources if last_verdict(play, name)[0] == "unmeasurable"]
        for name in again:
            story.remark(f"{name}: {last_verdict(play, name)}, sent again")
            play.send(name, sources[name])
        if again:
            play.judged()
    failed = {name: last_verdict(play, name) for name in sources if last_verdict(play, name)[0] != "passed"}
    assert not failed, failed


def last_verdict(play: RealPlay, name: str) -> tuple[str, str]:
    return [(outcome, reason) for who, _, _, outcome, reason, *_ in play.stage.rows(SENT) if who == name][-1]


def clear_honest(play: RealPlay, story: Story, names: set[str]) -> None:
    """Held honest entrants are notified, and both reviewers clear them as in life."""
    cases = dict(play.stage.rows(CASES))
    rules = dict(play.stage.rows(HELD))
    for name in sorted(names):
        story.remark(f"{name}: honest, and held by {rules[name]}")
        clear(play, f"/review/{cases[name]}", f"{cases[name]}")


def clear(play: RealPlay, address: str, result: str) -> None:
    for person in (play.rosa, play.sven):
        if play.stage.rows(f"SELECT state FROM review_case WHERE result_id = {result}") != [("cleared",)]:
            person.fill(address, "/clear", reason="Read, and measured again.")


def frozen(play: RealPlay) -> list[str]:
    """The figures of the new leader, which stay hidden until the reveal."""
    play.now("freeze_at")
    before = play.board()
    for _ in range(TRIES):
        play.send(LATE_BEST, kernels.LATE_BEST)
        play.judged()
        if last_verdict(play, LATE_BEST)[0] == "passed":
            break
    play.records_settled()
    assert play.board() == before
    assert [name for _, name in play.board("olga", full="true")[:2]] == [LATE_BEST, LEAD]
    secrets = figures(play)
    play.hidden(LEAPER, COPIER, *BAD, *secrets)
    return secrets


def figures(play: RealPlay) -> list[str]:
    """Figures of the kernel sent while frozen, as organisers read them."""
    rows = play.ask("olga", "GET", f"/api/v1/boards/{play.board_slug}/cpu/entries", params={"full": "true"})
    (own,) = [row for row in rows if row["user"] == LATE_BEST]
    return [str(own[figure]) for figure in ("ratio", "score_us")]


def judge_again(play: RealPlay, story: Story) -> None:
    """Fresh seeds, fresh containers, the same judge: the public sees no figure before all of the set is applied."""
    before = play.board("olga", full="true")
    made = make_again(play)
    assert play.board("olga", full="true") == before
    anew = [(name, outcome, reason) for name, _, is_again, outcome, reason, *_ in play.stage.rows(SENT) if is_again]
    for name, outcome, reason in anew:
        if outcome != "passed":
            story.remark(f"{name}: judged again, {outcome} {reason}")
    known = {result for _, result in play.stage.rows(CASES)}
    play.olga.fill(made, "/apply", reason="The same as before, within noise.")
    waiting = "SELECT result_id FROM review_case WHERE state IN ('waiting', 'half_cleared')"
    rules = dict(play.stage.rows(HELD))
    for (result,) in play.stage.rows(waiting):
        name = next(who for who, number in play.stage.rows(CASES) if number == result)
        story.remark(f"{name}: judged again, held by {rules.get(name)}" + (" (anew)" if result not in known else ""))
        clear(play, f"/review/{result}", str(result))
    lost = {name for name, outcome, _ in anew if outcome != "passed"}
    assert {name for _, name in play.board("olga", full="true")} >= {name for _, name in before} - lost


def in_order(play: RealPlay, story: Story, ranked: list[tuple[int, str]]) -> list[str]:
    """Entrants that stand behind an entrant of a class two or more slower, and classes slower than the next class in
    the median. Neighbours differ by little, and kernels whose intervals overlap may stand in any order."""
    speeds = ["jump", "three tenths in C", "a fifth in C", *kernels.CLASSES]
    assert [rank for rank, _ in ranked] == sorted(rank for rank, _ in ranked)
    classes = story.classes | {LEAPER: "jump"}
    names = [name for _, name in ranked]
    if names.index(LATE_BEST) < names.index(LEAD):
        classes |= {LATE_BEST: "three tenths in C"}
    places = [(rank, speeds.index(classes[name]), name) for rank, name in ranked]
    rows = play.ask("olga", "GET", f"/api/v1/boards/{play.board_slug}/cpu/entries", params={"full": "true"})
    least = {row["user"]: row["ratio"] * (1 - (row["half_width"] or 0)) for row in rows}
    most = {row["user"]: row["ratio"] * (1 + (row["half_width"] or 0)) for row in rows}
    found = [
        f"{name} at {rank} behind {other} at {before}"
        for rank, speed, name in places
        for before, slower, other in places
        if before < rank and slower > speed + 1 and least[name] > most[other]
    ]
    ratios: dict[int, list[float]] = {}
    for row in rows:
        ratios.setdefault(speeds.index(classes[row["user"]]), []).append(row["ratio"])
    medians = [statistics.median(ratios[speed]) for speed in sorted(ratios)]
    return found + [f"medians of the classes: {medians}"] * (medians != sorted(medians))


def told(play: RealPlay, story: Story) -> None:
    """The table, even if a check failed."""
    rows = play.stage.rows(SENT)
    held, ranks = dict(play.stage.rows(HELD)), {name: rank for rank, name in play.board("olga", full="true")}
    first: dict[str, tuple[str, float | None, float | None, int]] = {}
    again: dict[str, float] = {}
    say("\n| entrant | sent | verdict | share of the baseline's time | judged again | held by | rank |")
    say("| --- | --- | --- | --- | --- | --- | --- |")
    for name, sent, is_again, outcome, reason, ratio, half_width, *_ in rows:
        if is_again:
            again[f"{name} {sent}"] = ratio
        else:
            first[f"{name} {sent}"] = (f"{outcome} ({reason})" if reason else outcome, ratio, half_width, sent)
    for key, (verdict, ratio, half_width, _) in first.items():
        name = key.split()[0]
        kind = story.classes.get(
            name, {LEAPER: "a jump", COPIER: f"{LEAD}'s code", "ada": "in practice"}.get(name, "bad")
        )
        shown = f"{ratio:.3f} ± {100 * (half_width or 0):.1f} %" if ratio else "-"
        second = f"{again[key]:.3f}" if again.get(key) else "-"
        say(f"| {name} | {kind} | {verdict} | {shown} | {second} | {held.get(name, '-')} | {ranks.get(name, '-')} |")
    moved = [abs(again[key] / one[1] - 1) for key, one in first.items() if one[1] and again.get(key)]
    if moved:
        say(
            f"\njudged again: {len(moved)}, moved by {100 * statistics.median(moved):.2f} % in the median, "
            f"{100 * max(moved):.2f} % at most"
        )
    took = sorted(float(seconds) for *_, seconds, _ in rows if seconds)
    say(f"{len(took)} jobs, {statistics.median(took):.1f} s each in the median, {took[-1]:.1f} s at most")
    for candidate, incumbent, cause, outcome, message, seconds in play.stage.rows(RECORDS):
        say(f"record: {candidate} over {incumbent} ({cause}): {outcome} in {float(seconds or 0):.0f} s. {message}")
    for remark in story.remarks:
        say(f"remark: {remark}")
    say(f"looked at every public address {play.looks} times\n\n| phase | s |\n| --- | --- |")
    for name, seconds in story.phases:
        say(f"| {name} | {seconds:.0f} |")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.real_contest")
    parser.add_argument("--ceilings", type=Path, help="RUNNER_STATE/ceilings of a runner of this host")
    parser.add_argument("--rehearse", action="store_true", help="one honest entrant a class")
    asked = parser.parse_args()
    if asked.ceilings:
        os.environ[CEILINGS] = str(asked.ceilings.resolve())
    if asked.rehearse:
        os.environ[REHEARSE] = "1"
    if "SANDBOX_IMAGE" not in os.environ:
        os.environ["SANDBOX_IMAGE"] = ensure_image()
    return pytest.main([__file__, "-s", "-n", "0", "-p", "no:cacheprovider"])


if __name__ == "__main__":
    sys.exit(main())
