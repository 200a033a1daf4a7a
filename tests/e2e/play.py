"""The stage of a competition with its cast, its moves at pages and at the API, and the public's view.

test_contest.py plays it with a scripted judge, real_contest.py with the real one.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import httpx
from django.urls import get_resolver
from django.urls.resolvers import RoutePattern

from tests.e2e.conftest import Stage, await_that
from tests.e2e.person import Person

SLUG = "spring"
RULES = "One kernel, your own work."
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
    """The stage with its cast: olga organises with rosa, rosa and sven review, and all further people compete."""

    board_slug = "spring-softmax"
    problem = "softmax"  # the only version with this word in its name
    patience_s = 480.0  # for all submissions to be judged; a busy machine has taken over 240
    look_every_s = 0.05

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.client = httpx.Client(base_url=stage.url, timeout=30)
        made = json.loads((stage.folder / "accounts.json").read_text())
        self.passwords = {name: told["password"] for name, told in made.items()}
        self.olga, self.rosa, self.sven = (self.as_person(name) for name in ("olga", "cleo", "dora"))
        self.tokens = {name: told["token"] for name, told in made.items()}
        self.runner: subprocess.Popen[bytes] | None = None
        self.looks = 0  # at all public addresses
        self.lookers = 0
        self.looker = self.next_looker()
        self.stranger = Person(stage.url, "nobody")
        self.begin_runner("rex")

    def begin_runner(self, name: str, **changes: str) -> None:
        """From now on only this host judges."""
        if self.runner is not None:
            self.runner.terminate()
            self.runner.wait(20)
        token = self.stage.manage("create_runner", name, "--hardware", "cpu").strip()
        self.runner = self.stage.begin_runner(name, token, **changes)

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
        """Set this time of the schedule to the next second, in which no submission was sent."""
        moment = now() + timedelta(seconds=1)
        self.olga.fill(f"/organise/{SLUG}/settings", "", **{time: at(moment)}, **changes, reason="as announced")
        await_that(lambda: datetime.now(UTC) > moment)

    def enter(self, name: str, code: str = "") -> None:
        digest = self.ask("olga", "GET", f"/api/v1/competitions/{SLUG}")["rules_digest"]
        self.ask(name, "POST", f"/api/v1/competitions/{SLUG}/enter", json={"code": code, "rules_digest": digest})

    def send(self, name: str, text: str, status: int = 201) -> int:
        told = {"board": self.board_slug, "hardware": "cpu", "mode": "ranked", "filename": "kernel.py", "code": text}
        return int(self.ask(name, "POST", "/api/v1/submissions", status=status, json=told).get("id", 0))

    def judged(self) -> None:
        """Wait until all submissions are judged."""
        waiting = "SELECT count(*) FROM judging_attempt WHERE state NOT IN ('done', 'lost')"
        self.settled(waiting)

    def settled(self, waiting: str) -> None:
        """Wait until this query counts 0."""
        await_that(lambda: self.stage.rows(waiting) == [(0,)], self.patience_s, every_s=self.look_every_s)

    def hidden(self, *words: str) -> None:
        """Check that no public address shows any of these words."""
        shown = self.shown(*words)
        self.looks += 1
        assert not shown, f"to be read in public: {shown}"

    def shown(self, *words: str) -> dict[str, list[str]]:
        """Words that each public address shows."""
        people = ", ".join(f"'{word}'" for word in words)
        sent = self.stage.rows(f"{SENT_BY} WHERE person.username IN ({people})")
        read = {}
        for address in public_addresses(self.board_slug, [1, *(number for (number,) in sent)]):
            answer = self.look(address)
            assert answer.status_code < 500, address
            if answer.status_code == 200:
                read[address] = [word for word in words if re.search(rf"\b{re.escape(word)}\b", answer.text)]
        return {address: found for address, found in read.items() if found}

    def look(self, address: str) -> httpx.Response:
        """Read a page as the public. If the site refuses us for too many requests, we come from a new IP address."""
        while (answer := self.looker.get(address, headers={"Accept": "*/*"})).status_code == 429:
            self.looker.close()
            self.looker = self.next_looker()
        return answer

    def next_looker(self) -> httpx.Client:
        self.lookers += 1
        assert self.lookers < 250, "the site refuses every IP address"
        from_there = httpx.HTTPTransport(local_address=f"127.0.0.{1 + self.lookers}")
        return httpx.Client(base_url=self.stage.url, timeout=30, transport=from_there)

    def board(self, name: str = "", **query: str) -> list[tuple[int, str]]:
        """The board as this person sees it; "": the public."""
        rows = self.ask(name, "GET", f"/api/v1/boards/{self.board_slug}/cpu/entries", params=query)
        return [(row["rank"], row["user"]) for row in rows]


def public_addresses(board: str, numbers: list[int]) -> list[str]:
    """Every address that a visitor may try: all routes, with these values in their fields."""
    filled = {"slug": (SLUG, board), "hardware": ("cpu",), "pk": numbers, "name": ("reference.py",)}
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


def set_up(play: Play, codes: int) -> list[str]:
    """Create a closed competition with a board, tracks, prizes and reviewers; return its invite codes."""
    olga = play.olga
    olga.fill(
        "/organise/new",
        "",
        name="Spring",
        slug=SLUG,
        rules=RULES,
        description="As fast as can be.",
        visibility="closed",
        practice_at=at(now() - timedelta(hours=1)),
        contest_at=at(now() + timedelta(days=1)),
        deadline=at(now() + timedelta(days=3)),
        two_person_rule="on",
    )
    page = olga.read(f"/organise/{SLUG}/boards")
    (version,) = re.findall(rf'<option value="(\d+)"[^>]*>[^<]*{play.problem}', page, re.IGNORECASE)
    olga.fill(
        f"/organise/{SLUG}/boards", "", version=version, hardware="cpu", slug=play.board_slug, tags="memory-bound"
    )
    for track, told in {"Overall": {"kind": "overall"}, "Twice": {"kind": "first_to_beat", "speedup": "1.5"}}.items():
        olga.fill(f"/organise/{SLUG}/tracks", "", name=track, board=f"{play.board_slug} cpu", **told)
    for place, amount in enumerate(("1000", "500", "250"), start=1):
        olga.fill(
            track_page(play, "Overall"), "/prizes", place=str(place), amount=amount, currency="EUR", sponsor="ACME"
        )
    olga.fill(track_page(play, "Twice"), "/prizes", place="1", text="a GPU")
    for person, role in ((play.rosa, "owner"), (play.sven, "reviewer")):
        olga.fill(f"/organise/{SLUG}/roles", "", username=person.name, role=role)
    page = olga.fill(f"/organise/{SLUG}/codes", "", count=str(codes), note="spring")
    olga.fill(f"/organise/{SLUG}/announcements", "", title="Practice is open", text="Good luck.")
    play.settled("SELECT 1 - count(*) FROM admissions_admissiontest WHERE outcome = 'passed'")
    return re.findall(r"pfi_[A-Za-z0-9_-]{20,}", page)


def track_page(play: Play, name: str) -> str:
    page = play.olga.read(f"/organise/{SLUG}/tracks")
    return re.findall(rf'href="(/organise/{SLUG}/tracks/\d+)"[^>]*>\s*{name}', page)[0]


def decide(play: Play, leaper: str, copier: str, *unseen: str) -> None:
    """Two people clear the would-be leader; one reviewer rejects the copy, its owner appeals, and a second reviewer
    answers."""
    cases = dict(play.stage.rows(CASES))
    leap, copy = f"/review/{cases[leaper]}", f"/review/{cases[copier]}"
    play.rosa.fill(leap, "/clear", reason="One pass instead of three.", public_reason="One pass instead of three.")
    assert (1, leaper) not in play.board("olga", full="true"), "two people clear what would lead"
    play.rosa.fill(copy, "/reject", code="copied", reason="Renamed, otherwise the same as the winner's.")
    play.hidden(leaper, copier, *unseen)
    play.sven.fill(leap, "/clear", reason="I agree.")
    appellant = play.as_person(copier)
    (own,) = re.findall(r"/submissions/(\d+)", appellant.read("/submissions"))[:1]
    appellant.fill(f"/submissions/{own}", "/appeal", text="We found the same thing on our own.")
    play.sven.fill(copy, "/uphold", reason="Every line in the same order.")
    assert "in the same order" in appellant.read(f"/submissions/{own}")
    play.hidden(copier, *unseen)


def make_again(play: Play) -> str:
    """Judge everything published anew in the shadow; return the page of the set, which is not applied yet."""
    place = re.findall(r'value="(board-\d+)"[^>]*>[^<]*spring', play.olga.read("/rejudge/new"))[0]
    told = {"where": place, "name": "newer judge", "why": "It counts copies.", "kind": "published", "go": "make"}
    page = play.olga.fill("/rejudge/new", "", **told)
    (made,) = set(re.findall(r"/rejudge/(\d+)/apply", page))
    play.judged()
    return f"/rejudge/{made}"


def reveal(play: Play) -> None:
    play.olga.fill(f"/organise/{SLUG}/standing", "/reveal", reason="The deadline is past.")
    play.olga.fill(f"/organise/{SLUG}/standing", "/finalise", reason="Nothing waits.")


def award(play: Play, confirmed_within_s: float = 60) -> list[tuple[str, int, str, str]]:
    """Propose, confirm by runs, approve and announce the awards; return the winners and prizes that the public
    reads."""
    page = f"/competitions/{SLUG}/awards"
    for track in ("overall", "twice"):
        play.olga.fill(page, f"/propose/{track}")
    play.hidden("1,000.00 won")
    for pk, _ in play.stage.rows(
        "SELECT award.id, track.slug FROM awards_award award"
        " JOIN competitions_track track ON track.id = award.track_id ORDER BY award.id"
    ):
        await_that(lambda: f"/{pk}/approve" in play.olga.fill(page, f"/{pk}/confirm"), confirmed_within_s, every_s=0.5)  # noqa: B023
        play.rosa.fill(page, f"/{pk}/approve", reason="As the board says.")
        play.olga.fill(page, f"/{pk}/announce")
    assert "Winners" in play.stranger.read(f"/competitions/{SLUG}")
    won = play.stranger.client.get(page + ".json").json()["winners"]
    return [(one["track"], one["place"], one["winner"], one["amount"]) for one in won]
