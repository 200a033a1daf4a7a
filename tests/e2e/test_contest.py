"""A whole competition, from its announcement to the award, played by people at pages and scripts at the API.

Real processes all round: database, queue, site, sweeper and a runner's daemon; only the judge is scripted
(scripted_judge.py), so that each entrant's speed is known. After each event, every public address is searched for
hidden figures.
"""

import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.host.accelerators import epoch, fingerprint
from tests.e2e.conftest import Stage
from tests.e2e.play import CASES, SLUG, Play, award, decide, make_again, reveal, set_up
from tests.runner.judge.suspects import steady

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LEAPER, COPIER, CORRECTED = "emil", "ben", "entrant-02"
FROZEN = ("0.55", "1.818")  # sent while frozen: its ratio in the API, its speed-up on a page
HONEST = 20  # entrants whose kernels are from 0.60 to 0.95 of the baseline's time
JUDGE = [sys.executable, str(Path(__file__).with_name("scripted_judge.py"))]
AGAIN = "rex-again"  # the host of a newer judge


class Scripted(Play):
    """A kernel whose scripted report the judge finds."""

    def begin_runner(self, name: str, **changes: str) -> None:
        host = fingerprint("cpu")
        self.keep("ready", {"ready": {"fingerprint": host, "epoch": epoch(host), "images": []}})
        arguments = ["--again"] if name == AGAIN else []
        super().begin_runner(name, RUNNER_JUDGE_COMMAND=json.dumps([*JUDGE, str(self.stage.folder), *arguments]))

    def keep(self, name: object, content: dict[str, Any]) -> None:
        """Write a file for the judge."""
        (self.stage.folder / f"{name}.json").write_text(json.dumps(content))

    def send(self, name: str, text: str, status: int = 201, **report: Any) -> int:
        for ratio in (report.get("ratio", 0.9), report.get("again", 0.9)):
            self.keep(ratio, steady(ratio))
        return super().send(name, text + f"\n# REPORT {json.dumps(report)}\n", status)


def kernel(number: int) -> str:
    """A source that shares no long part with a second source: random expressions, some in loops and branches."""
    chance = random.Random(number)

    def term(depth: int) -> str:
        if not depth:
            return chance.choice([f"v{chance.randrange(9)}", f"data[{chance.randrange(9)}]", str(chance.randrange(99))])
        left, right = term(depth - 1), term(chance.randrange(depth))
        return chance.choice(
            [f"({left} {sign} {right})" for sign in "+-*/%"] + [f"abs({left})", f"max({left}, {right})"]
        )

    lines = ["def custom_kernel(data):", *(f"    v{index} = {index}" for index in range(9))]
    for _ in range(24):
        head = chance.choice(["", f"if {term(1)} > {term(1)}: ", f"for i in range({term(1)}): ", f"while {term(2)}: "])
        lines.append(f"    {head}v{chance.randrange(9)} = {term(3)}")
    return "\n".join([*lines, "    return v0"])


@pytest.fixture
def play(stage: Stage) -> Scripted:
    return Scripted(stage)


def test_a_competition_from_its_announcement_to_the_award(play: Scripted) -> None:
    codes = set_up(play, HONEST + 8)
    practise(play, codes.pop())
    play.now("contest_at", visibility="public")
    contest(play)
    frozen(play)
    play.now("deadline")
    review(play)
    judge_again(play)
    final(play)
    assert award(play) == [
        ("Overall", 1, LEAPER, "1000.00"),
        ("Overall", 2, "entrant-15", "500.00"),
        ("Overall", 3, "entrant-00", "250.00"),
        ("Twice", 1, "entrant-00", ""),
    ]


def practise(play: Scripted, code: str) -> None:
    """The competition is closed: only people with a code see it; practice counts for nothing later."""
    play.stranger.read(f"/competitions/{SLUG}", status=404)
    play.enter("ada", code)
    play.send("ada", kernel(1), ratio=0.58)
    play.judged()
    assert play.board("ada") == [(1, "ada")]
    play.hidden("ada", SLUG)


def contest(play: Scripted) -> None:
    """Honest entrants, two nearly equal entrants, an implausibly good kernel, an impossible kernel, and a copy."""
    names = [f"entrant-{number:02}" for number in range(HONEST)]
    play.more_people([*names, "liar", "twin"])
    for name in [*names, "liar", "twin", LEAPER, COPIER]:
        play.enter(name)
    for number, name in enumerate(names):
        corrected = {"again": 0.70} if name == CORRECTED else {}
        play.send(name, kernel(100 + number), ratio=round(0.60 + number / 100, 4), **corrected)
    play.send("twin", kernel(300), ratio=0.6504)
    play.send(LEAPER, kernel(301), ratio=0.24)
    play.send("liar", kernel(302), outcome="policy", reason="impossible", message="Faster than light.")
    play.judged()
    play.send(COPIER, re.sub(r"\bv(\d)", r"mine_\1", kernel(100)), ratio=0.61)
    play.judged()
    findings = play.stage.rows("SELECT rule FROM review_finding ORDER BY id")
    assert [rule for (rule,) in findings] == ["faster_than_best", "similar_source"]
    expected = [(rank_of(number), name) for number, name in enumerate(names)]
    expected.insert(6, (6, "twin"))
    assert play.board() == play.board("olga") == expected
    play.hidden(LEAPER, "liar", COPIER)


def rank_of(number: int) -> int:
    """Rank of an honest entrant. The sixth shares its rank with the twin."""
    return number + 1 + (number > 5)


def frozen(play: Scripted) -> None:
    play.now("freeze_at")
    before = play.board()
    play.send("entrant-15", kernel(400), ratio=0.55)
    play.judged()
    assert play.board() == before
    assert play.board("olga", full="true")[0] == (1, "entrant-15")
    play.hidden(LEAPER, "liar", COPIER, *FROZEN)


def review(play: Scripted) -> None:
    play.send("entrant-01", kernel(500), status=409)
    decide(play, LEAPER, COPIER, "liar", *FROZEN)
    assert play.board("olga", full="true")[:2] == [(1, LEAPER), (2, "entrant-15")]


def judge_again(play: Scripted) -> None:
    """A newer judge measures a single kernel differently: the public sees no new time before all of the set is
    applied."""
    play.begin_runner(AGAIN)
    before = play.board("olga", full="true")
    made = make_again(play)
    assert play.board("olga", full="true") == before
    play.olga.fill(made, "/apply", reason="One kernel was flattered.")
    leap = f"/review/{dict(play.stage.rows(CASES))[LEAPER]}"
    for person in (play.rosa, play.sven):  # a new implausibly good measurement is reviewed anew
        person.fill(leap, "/clear", reason="The same code.")
    names = [name for _, name in play.board("olga", full="true")]
    assert names[0] == LEAPER
    assert names.index(CORRECTED) == names.index("entrant-10") - 1, "as fast as that one, and earlier"


def final(play: Scripted) -> None:
    """Revealed, then final: the public standing is correct, line by line."""
    reveal(play)
    honest = [f"entrant-{number:02}" for number in range(HONEST)]
    order = [LEAPER, "entrant-15", *(name for name in honest if name not in ("entrant-15", CORRECTED))]
    order.insert(order.index("entrant-05") + 1, "twin")
    order.insert(order.index("entrant-10"), CORRECTED)
    ranks = list(range(1, len(order) + 1))
    for name in ("twin", "entrant-10"):  # each is tied with the entrant before it
        ranks[order.index(name)] -= 1
    assert play.board() == play.board("olga") == list(zip(ranks, order, strict=True))
    play.hidden("liar", COPIER)
    shown = play.shown(*FROZEN)
    assert {word for found in shown.values() for word in found} == set(FROZEN), "what was looked for in vain before"
