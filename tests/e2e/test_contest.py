"""A whole competition, from its announcement to the award, played by people at pages and scripts at the API.

Real processes all round: database, queue, site, sweeper and a runner's daemon; only the judge is scripted
(scripted_judge.py), so that who is how fast is known. What must not be seen is looked for at every public address,
each time that something happened.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.urls import get_resolver
from django.urls.resolvers import RoutePattern

from tests.e2e.conftest import Stage, await_that
from tests.e2e.person import Person

pytestmark = pytest.mark.slow

SLUG = "spring"
BOARD = "spring-softmax"
RULES = "One kernel, your own work."
LEAPER, COPIER, CORRECTED = "emil", "ben", "entrant-02"
FROZEN = ("0.55", "1.82")  # what was sent while frozen: its ratio in the API, its speed-up on a page
HONEST = 36  # entrants whose kernels are from 0.60 to 0.95 of the baseline's time
JUDGE = [sys.executable, str(Path(__file__).with_name("scripted_judge.py"))]
CASES = """
SELECT person.username, result.id
  FROM review_case AS held
  JOIN judging_result AS result ON result.id = held.result_id
  JOIN judging_attempt AS attempt ON attempt.id = result.attempt_id
  JOIN submissions_submission AS sent ON sent.id = attempt.submission_id
  JOIN accounts_user AS person ON person.id = sent.owner_id
 ORDER BY result.id
"""
SENT_BY = """
SELECT sent.id FROM submissions_submission AS sent JOIN accounts_user AS person ON person.id = sent.owner_id
"""
MAKE_PEOPLE = """
import json, sys
from django.utils import timezone
from leaderboard.accounts.models import SCOPES, User
from leaderboard.accounts.tokens import issue_token
users = User.objects.bulk_create(User(username=name, password="!") for name in %r)
tokens = {user.username: issue_token(owner=user, name="e2e", scopes=SCOPES, now=timezone.now())[1] for user in users}
print(json.dumps(tokens))
"""


def at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


class Play:
    """The stage with its cast: olga organises, with rosa, who reviews as sven does, and everybody else competes."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.client = httpx.Client(base_url=stage.url, timeout=30)
        made = json.loads((stage.folder / "accounts.json").read_text())
        self.passwords = {name: told["password"] for name, told in made.items()}
        self.olga, self.rosa, self.sven = (self.as_person(name) for name in ("olga", "cleo", "dora"))
        self.tokens = {name: told["token"] for name, told in made.items()}
        self.runner: subprocess.Popen[bytes] | None = None
        self.use_judge()
        self.stranger = Person(stage.url, "nobody")

    def use_judge(self, *arguments: str) -> None:
        """From now on, on a host of its own."""
        if self.runner is not None:
            self.runner.terminate()
            self.runner.wait(20)
        name = f"rex{''.join(arguments)}"
        token = self.stage.manage("create_runner", name, "--hardware", "cpu").strip()
        self.runner = self.stage.begin_runner(name, token, RUNNER_JUDGE_COMMAND=json.dumps([*JUDGE, *arguments]))

    def as_person(self, name: str) -> Person:
        return Person(self.stage.url, name, self.passwords[name])

    def more_people(self, names: list[str]) -> None:
        self.tokens |= json.loads(self.stage.manage("shell", "-v", "0", "-c", MAKE_PEOPLE % names))

    def ask(self, name: str, method: str, address: str, status: int = 200, **told: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[name]}"} if name else {}
        answer = self.client.request(method, address, headers=headers, **told)
        assert answer.status_code == status, f"{name} {method} {address}: {answer.status_code} {answer.text}"
        return answer.json()

    def now(self, time: str, **changes: str) -> None:
        """Let this time of the schedule be now: the next second, so that nothing was sent in it."""
        moment = now() + timedelta(seconds=1)
        self.olga.fill(f"/organise/{SLUG}/settings", "", **{time: at(moment)}, **changes, reason="as announced")
        await_that(lambda: datetime.now(UTC) > moment)

    def enter(self, name: str, code: str = "") -> None:
        digest = self.ask("olga", "GET", f"/api/v1/competitions/{SLUG}")["rules_digest"]
        self.ask(name, "POST", f"/api/v1/competitions/{SLUG}/enter", json={"code": code, "rules_digest": digest})

    def send(self, name: str, source: str, status: int = 201, **report: Any) -> int:
        text = source + f"\n# REPORT {json.dumps(report)}\n"
        told = {"board": BOARD, "hardware": "cpu", "mode": "ranked", "filename": "kernel.py", "code": text}
        return int(self.ask(name, "POST", "/api/v1/submissions", status=status, json=told).get("id", 0))

    def judged(self) -> None:
        """All that was sent."""
        waiting = "SELECT count(*) FROM judging_attempt WHERE state <> 'done'"
        await_that(lambda: self.stage.rows(waiting) == [(0,)], within_s=240)

    def hidden(self, *words: str) -> None:
        """At no public address is any of these to be read."""
        shown = self.shown(*words)
        assert not shown, f"to be read in public: {shown}"

    def shown(self, *words: str) -> dict[str, list[str]]:
        """Which of these are to be read at which public address."""
        people = ", ".join(f"'{word}'" for word in words)
        sent = self.stage.rows(f"{SENT_BY} WHERE person.username IN ({people})")
        read = {}
        for address in public_addresses([1, *(number for (number,) in sent)]):
            answer = self.client.get(address, headers={"Accept": "*/*"})
            assert answer.status_code < 500, address
            if answer.status_code == 200:
                read[address] = [word for word in words if re.search(rf"\b{re.escape(word)}\b", answer.text)]
        return {address: found for address, found in read.items() if found}

    def board(self, name: str = "", **query: str) -> list[tuple[int, str]]:
        """As this one sees it; "": the public."""
        rows = self.ask(name, "GET", f"/api/v1/boards/{BOARD}/cpu/entries", params=query)
        return [(row["rank"], row["user"]) for row in rows]


def kernel(number: int) -> str:
    """A source of which no long part is in another one's: random expressions, some of them in loops and branches."""
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


def public_addresses(numbers: list[int]) -> list[str]:
    """Every address that anybody may try: all that there are, with what there is put into them."""
    filled = {"slug": (SLUG, BOARD), "hardware": ("cpu",), "pk": numbers, "name": ("reference.py",)}
    found = []
    for route in routes(get_resolver().url_patterns):
        fields = re.findall(r"<\w+:(\w+)>", route)
        if "events" not in route and "healthz" not in route and set(fields) <= set(filled):
            for values in product(*(filled[field] for field in fields)):
                found.append("/" + re.sub(r"<[^>]+>", "{}", route).format(*values))
    return found


def routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for one in patterns:
        if isinstance(one.pattern, RoutePattern):
            if hasattr(one, "url_patterns"):
                yield from routes(one.url_patterns, before + str(one.pattern))
            else:
                yield before + str(one.pattern)


@pytest.fixture
def play(stage: Stage) -> Play:
    return Play(stage)


def test_a_competition_from_its_announcement_to_the_award(play: Play) -> None:
    codes = set_up(play)
    practise(play, codes.pop())
    play.now("contest_at", visibility="public")
    contest(play)
    frozen(play)
    play.now("deadline")
    review(play)
    judge_again(play)
    final(play)
    award(play)


def set_up(play: Play) -> list[str]:
    """A closed competition with a board, tracks and prizes, reviewers, and invite codes, which are returned."""
    olga = play.olga
    olga.fill(
        "/organise/new",
        "",
        name="Spring",
        slug=SLUG,
        rules=RULES,
        description="Fast softmax.",
        visibility="closed",
        practice_at=at(now() - timedelta(hours=1)),
        contest_at=at(now() + timedelta(days=1)),
        deadline=at(now() + timedelta(days=3)),
        two_person_rule="on",
    )
    page = olga.read(f"/organise/{SLUG}/boards")
    (version,) = re.findall(r'<option value="(\d+)"[^>]*>[^<]*softmax', page, re.IGNORECASE)
    olga.fill(f"/organise/{SLUG}/boards", "", version=version, hardware="cpu", slug=BOARD, tags="memory-bound")
    for track, told in {"Overall": {"kind": "overall"}, "Twice": {"kind": "first_to_beat", "speedup": "1.5"}}.items():
        olga.fill(f"/organise/{SLUG}/tracks", "", name=track, board=f"{BOARD} cpu", **told)
    for place, amount in enumerate(("1000", "500", "250"), start=1):
        olga.fill(
            track_page(play, "Overall"), "/prizes", place=str(place), amount=amount, currency="EUR", sponsor="ACME"
        )
    olga.fill(track_page(play, "Twice"), "/prizes", place="1", text="a GPU")
    for person, role in ((play.rosa, "owner"), (play.sven, "reviewer")):
        olga.fill(f"/organise/{SLUG}/roles", "", username=person.name, role=role)
    page = olga.fill(f"/organise/{SLUG}/codes", "", count=str(HONEST + 8), note="spring")
    olga.fill(f"/organise/{SLUG}/announcements", "", title="Practice is open", text="Good luck.")
    await_that(
        lambda: play.stage.rows("SELECT count(*) FROM admissions_admissiontest WHERE outcome = 'passed'") == [(1,)]
    )
    return re.findall(r"pfi_[A-Za-z0-9_-]{20,}", page)


def track_page(play: Play, name: str) -> str:
    page = play.olga.read(f"/organise/{SLUG}/tracks")
    return re.findall(rf'href="(/organise/{SLUG}/tracks/\d+)"[^>]*>\s*{name}', page)[0]


def practise(play: Play, code: str) -> None:
    """Closed: who has a code sees it, nobody else does; practice counts for nothing later."""
    play.stranger.read(f"/competitions/{SLUG}", status=404)
    play.enter("ada", code)
    play.send("ada", kernel(1), ratio=0.58)
    play.judged()
    assert play.board("ada") == [(1, "ada")]
    play.hidden("ada", SLUG)


def contest(play: Play) -> None:
    """Honest entrants, two that are all but equal, one too good, one impossible, one who copied."""
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
    """Of an honest entrant. The sixth shares its rank with the twin."""
    return number + 1 + (number > 5)


def frozen(play: Play) -> None:
    play.now("freeze_at")
    before = play.board()
    play.send("entrant-30", kernel(400), ratio=0.55)
    play.judged()
    assert play.board() == before
    assert play.board("olga", full="true")[0] == (1, "entrant-30")
    play.hidden(LEAPER, "liar", COPIER, *FROZEN)


def review(play: Play) -> None:
    """Two people clear what would lead; one rejects the copy, its owner appeals, and another one answers."""
    cases = dict(play.stage.rows(CASES))
    leap, copy = f"/review/{cases[LEAPER]}", f"/review/{cases[COPIER]}"
    play.send("entrant-01", kernel(500), status=409)
    play.rosa.fill(leap, "/clear", reason="One pass instead of three.", public_reason="One pass instead of three.")
    assert (1, LEAPER) not in play.board("olga", full="true"), "two people clear what would lead"
    play.rosa.fill(copy, "/reject", code="copied", reason="Renamed, otherwise the same as the winner's.")
    play.hidden(LEAPER, "liar", COPIER, *FROZEN)
    play.sven.fill(leap, "/clear", reason="I agree.")
    assert play.board("olga", full="true")[:2] == [(1, LEAPER), (2, "entrant-30")]
    copier = play.as_person(COPIER)
    (own,) = re.findall(r"/submissions/(\d+)", copier.read("/submissions"))[:1]
    copier.fill(f"/submissions/{own}", "/appeal", text="We found the same thing on our own.")
    play.sven.fill(copy, "/uphold", reason="Every line in the same order.")
    assert "in the same order" in copier.read(f"/submissions/{own}")
    play.hidden("liar", COPIER, *FROZEN)


def judge_again(play: Play) -> None:
    """A newer judge measures one kernel otherwise: nobody sees it before all of it is applied."""
    play.use_judge("--again")
    before = play.board("olga", full="true")
    place = re.findall(r'value="(board-\d+)"[^>]*>[^<]*spring', play.olga.read("/rejudge/new"))[0]
    told = {"where": place, "name": "newer judge", "why": "It counts copies.", "kind": "published", "go": "make"}
    page = play.olga.fill("/rejudge/new", "", **told)
    (made,) = set(re.findall(r"/rejudge/(\d+)/apply", page))
    play.judged()
    assert play.board("olga", full="true") == before
    page = play.olga.read(f"/rejudge/{made}")
    play.olga.fill(f"/rejudge/{made}", "/apply", reason="One kernel was flattered.")
    leap = f"/review/{dict(play.stage.rows(CASES))[LEAPER]}"
    for person in (play.rosa, play.sven):  # a new measurement that is too good is looked at anew
        person.fill(leap, "/clear", reason="The same code.")
    names = [name for _, name in play.board("olga", full="true")]
    assert names[0] == LEAPER
    assert names.index(CORRECTED) == names.index("entrant-10") - 1, "as fast as that one, and earlier"


def final(play: Play) -> None:
    """Revealed, then final: what the public sees now is what it should be, line by line."""
    play.olga.fill(f"/organise/{SLUG}/standing", "/reveal", reason="The deadline is past.")
    play.olga.fill(f"/organise/{SLUG}/standing", "/finalise", reason="Nothing waits.")
    honest = [f"entrant-{number:02}" for number in range(HONEST)]
    order = [LEAPER, "entrant-30", *(name for name in honest if name not in ("entrant-30", CORRECTED))]
    order.insert(order.index("entrant-05") + 1, "twin")
    order.insert(order.index("entrant-10"), CORRECTED)
    ranks = list(range(1, len(order) + 1))
    for name in ("twin", "entrant-10"):  # each is tied with the one before it
        ranks[order.index(name)] -= 1
    assert play.board() == play.board("olga") == list(zip(ranks, order, strict=True))
    play.hidden("liar", COPIER)
    shown = play.shown(*FROZEN)
    assert {word for found in shown.values() for word in found} == set(FROZEN), "what was looked for in vain before"


def award(play: Play) -> None:
    """Proposed, confirmed by runs, approved, announced: the money goes where the board says."""
    page = f"/competitions/{SLUG}/awards"
    for track in ("overall", "twice"):
        play.olga.fill(page, f"/propose/{track}")
    play.hidden("1,000.00 won")
    for pk, _ in play.stage.rows(
        "SELECT award.id, track.slug FROM awards_award award"
        " JOIN competitions_track track ON track.id = award.track_id ORDER BY award.id"
    ):
        await_that(lambda: f"/{pk}/approve" in play.olga.fill(page, f"/{pk}/confirm"), within_s=60)  # noqa: B023
        play.rosa.fill(page, f"/{pk}/approve", reason="As the board says.")
        play.olga.fill(page, f"/{pk}/announce")
    won = play.stranger.client.get(page + ".json").json()["winners"]
    assert [(one["track"], one["place"], one["winner"], one["amount"]) for one in won] == [
        ("Overall", 1, LEAPER, "1000.00"),
        ("Overall", 2, "entrant-30", "500.00"),
        ("Overall", 3, "entrant-00", "250.00"),
        ("Twice", 1, "entrant-00", ""),
    ]
    assert "Winners" in play.stranger.read(f"/competitions/{SLUG}")
