"""Outsiders find no trace of a closed competition at any public address."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver

from leaderboard.competitions.models import CLOSED, UNLISTED, Announcement, Board, Competition, InviteCode, Prize, Track
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError
from leaderboard.submissions.models import Submission
from leaderboard.web.urls import urlpatterns
from tests.leaderboard.stage import NOON, Stage, make_board

WORD = "hushhush"  # in all names of the closed competition
NO_SUCH = "nosuchthing"


@pytest.fixture
def closed(stage: Stage) -> Board:
    """Create a closed competition with every part; ada competes in it by a code, and has a line on its board."""
    competition = Competition.objects.create(slug=f"{WORD}-cup", name=f"{WORD} Cup", description=f"About {WORD}.")
    board = make_board(f"{WORD}-gemm")
    Board.objects.filter(pk=board.pk).update(competition=competition)
    board.refresh_from_db()
    board.problem.title = f"{WORD} product"
    board.problem.save()
    Announcement.objects.create(competition=competition, author=stage.olga, title=f"{WORD} begins", created_at=NOON)
    track = Track.objects.create(competition=competition, slug=f"{WORD}-track", name=f"{WORD} track", kind="overall")
    Prize.objects.create(track=track, place=1, text=f"a {WORD} mug")
    stage.judge(stage.submit(stage.ada, board=board))
    give_code(stage, competition, stage.ada)
    Competition.objects.filter(pk=competition.pk).update(visibility=CLOSED, rules=f"Rules of {WORD}.")
    board.competition.refresh_from_db()
    return board


def give_code(stage: Stage, competition: Competition, user: Any, *boards: Board) -> None:
    code = InviteCode.objects.create(
        competition=competition,
        opens_all=not boards,
        prefix="pfi_",
        digest=f"{InviteCode.objects.count():064}",
        created_by=stage.olga,
        created_at=NOON,
        used_by=user,
        used_at=NOON,
    )
    code.boards.set(boards)


def addresses(slugs: tuple[str, ...], numbers: tuple[int, ...]) -> Iterator[str]:
    """Yield every address of the site except the runners', with these names in all parameters."""
    for route, kinds in routes(urlpatterns, ""):
        if not route.startswith("api/runner/"):
            assert "<" not in route, f"this test does not understand {route}"
            known = {"int": numbers, "slug": slugs, "str": (*slugs, "cpu", "ada", "reference.py")}
            choices = [known.get(kind, slugs) for kind in kinds]
            for chosen in product(*choices):
                yield "/" + route.format(*chosen)


def routes(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each route, with {} for its parameters, and the parameters' kinds."""
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, prefix + str(one.pattern))
        elif hasattr(one.pattern, "_route"):
            route, kinds = prefix + one.pattern._route, []
            for name, converter in one.pattern.converters.items():
                kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
                kinds.append(kind)
                route = route.replace(f"<{kind}:{name}>", "{}")
            yield route, kinds


def told(answer: Any) -> str:
    """Return the text of an answer, without its quotations of the names that were asked for."""
    body = b"" if answer.streaming else answer.content
    said = body.decode(errors="replace").lower()  # a picture has no text
    for name in answer.request["PATH_INFO"].split("/"):
        said = said.replace(f"“{name}”", "“…”").replace(f'"value":"{name}"', '"value":"…"')
    return said


@pytest.fixture
def asked(closed: Board) -> list[str]:
    competition = closed.competition
    submission = closed.submissions.get()
    return list(addresses((closed.slug, competition.slug, f"{WORD}-track"), (submission.pk, 1, competition.pk)))


@pytest.mark.parametrize("who", [None, "cleo"])
def test_no_address_tells_a_stranger_of_it(stage, browser, asked, who) -> None:
    client = browser(getattr(stage, who) if who else None)
    telling = [address for address in asked if WORD in told(client.get(address))]
    assert telling == []


def test_no_address_tells_of_it_after_it_is_over(stage, browser, closed, asked) -> None:
    """By then, an open competition's code, decisions and winners are published."""
    over = {"deadline": NOON + timedelta(minutes=1), "revealed_at": NOON + timedelta(minutes=2)}
    Competition.objects.filter(pk=closed.competition_id).update(**over, final_at=NOON + timedelta(minutes=3))
    client = browser(None)
    assert [address for address in asked if WORD in told(client.get(address))] == []
    assert WORD in told(browser(stage.ada).get(f"/boards/{closed.slug}/cpu"))


def test_no_form_tells_a_stranger_of_it(stage, browser, asked) -> None:
    client = browser(stage.cleo)
    before = changed()
    posted = [address for address in asked if address != "/sign-out"]
    telling = [address for address in posted if WORD in told(client.post(address, {}))]
    assert telling == []
    assert changed() == before, "nothing of it was changed"


def test_asking_for_it_by_name_tells_a_stranger_nothing(stage, browser, closed, asked) -> None:
    client, slug = browser(stage.cleo), closed.competition.slug
    query = {"board": closed.slug, "slug": slug, "competition": slug, "track": f"{WORD}-track", "q": WORD}
    names = (closed.competition.name.lower(), closed.title.lower())
    addresses = [address for address in asked if WORD not in address]
    answers = {address: told(client.get(address, query)) for address in addresses}
    assert [address for address, said in answers.items() if any(name in said for name in names)] == []


def changed() -> list[int]:
    tables = (Board, Competition, InviteCode, Announcement, Prize, Track, Submission, Membership)
    return [table.objects.count() for table in tables]


def test_those_who_are_in_it_are_told(stage, browser, asked) -> None:
    """This check proves that the tests above can fail."""
    board, cup = f"{WORD}-gemm", f"{WORD}-cup"
    pages = {"/", "/boards", f"/boards/{board}", f"/boards/{board}/cpu", "/competitions", f"/competitions/{cup}"}
    calls = {"/api/v1/boards", f"/api/v1/boards/{board}", "/api/v1/competitions", f"/api/v1/competitions/{cup}"}
    assert pages | calls <= set(asked)
    for person in (stage.ada, stage.olga):
        client = browser(person)
        assert [address for address in pages | calls if WORD not in told(client.get(address))] == []


@pytest.mark.parametrize("who", [None, "cleo"])
def test_it_answers_as_what_does_not_exist(stage, browser, closed, who) -> None:
    client = browser(getattr(stage, who) if who else None)
    pages = ["/boards/{}", "/boards/{}/cpu", "/boards/{}/files/reference.py", "/boards/{}/submit", "/collections/{}"]
    calls = ["/api/v1/boards/{}", "/api/v1/boards/{}/cpu/entries", "/popcorn/gpus/{}", "/popcorn/submissions/{}/cpu"]
    for address in (*pages, *calls):
        for name in (closed.slug, closed.competition.slug):
            real, none = client.get(address.format(name)), client.get(address.format(NO_SUCH))
            assert real.status_code == none.status_code
            if address in calls:
                assert (real.status_code, told(real)) == (404, told(none))


@pytest.mark.parametrize("who", [None, "cleo"])
def test_numbers_of_hidden_entries_answer_like_absent_numbers(stage, browser, closed, who) -> None:
    held = stage.submit(stage.ben)
    stage.judge(held, ratio=0.05, score_us=50.0)
    tried = stage.submit(stage.ben, mode="test")
    client = browser(getattr(stage, who) if who else None)
    pages = ["/entries/{}", "/entries/{}/code", "/entries/{}/badge.svg", "/submissions/{}"]
    calls = [
        "/api/v1/entries/{}",
        "/api/v1/entries/{}/signed",
        "/api/v1/submissions/{}",
        "/api/v1/submissions/{}/seeds",
    ]
    for address in (*pages, *calls):
        none = client.get(address.format(10**6))
        assert none.status_code != 200
        for hidden in (closed.submissions.get(), held, tried):
            real = client.get(address.format(hidden.pk))
            assert real.status_code == none.status_code, address
            if address in calls:
                assert told(real) == told(none), address


def test_a_stranger_cannot_send_to_it_nor_learn_its_name(stage, tool, closed) -> None:
    sent = {"hardware": "cpu", "mode": "test", "filename": "kernel.py", "code": "def custom_kernel(data): ..."}
    client = tool(stage.cleo)
    real, none = (
        client.post("/api/v1/submissions", sent | {"board": name}, content_type="application/json")
        for name in (closed.slug, NO_SUCH)
    )
    assert real.status_code == none.status_code == 404
    assert real.json()["detail"].replace(closed.slug, "") == none.json()["detail"].replace(NO_SUCH, "")
    near = client.post("/api/v1/submissions", sent | {"board": closed.slug[:-1]}, content_type="application/json")
    unnamed = client.post("/api/v1/submissions", sent, content_type="application/json")
    assert closed.slug not in near.content.decode()
    assert closed.slug not in unnamed.content.decode()
    named = sent | {"code": f"#!PHOTOFINISH leaderboard {closed.slug}\n" + sent["code"]}
    directive = client.post("/api/v1/submissions", named, content_type="application/json")
    assert directive.status_code == 400
    assert "names no board" in directive.json()["detail"]


def test_a_code_may_open_one_board_of_several(stage, browser, closed) -> None:
    Competition.objects.filter(pk=closed.competition_id).update(rules="")
    other = make_board(f"{WORD}-sort")
    Board.objects.filter(pk=other.pk).update(competition=closed.competition)
    give_code(stage, closed.competition, stage.cleo, other)
    client = browser(stage.cleo)
    assert client.get(f"/boards/{other.slug}").status_code == 200
    assert client.get(f"/boards/{closed.slug}").status_code == 404
    assert closed.slug not in told(client.get("/boards"))
    assert {board["slug"] for board in client.get("/api/v1/boards").json()} == {"softmax", other.slug}
    with pytest.raises(UserError, match="no such board"):
        stage.submit(stage.cleo, board=closed)
    stage.submit(stage.cleo, board=other)
    assert client.get(f"/boards/{closed.slug}").status_code == 404, "entering opens no more than the code did"


def test_who_sees_some_boards_is_told_of_no_other(stage, browser, closed, asked) -> None:
    other = make_board(f"{WORD}-sort")
    Board.objects.filter(pk=other.pk).update(competition=closed.competition)
    params = {"slug": closed.slug, "hardware": closed.hardware}
    closed.competition.tracks.create(slug="best", name="Best of one", kind=Track.BOARD, params=params)
    give_code(stage, closed.competition, stage.cleo, other)
    client = browser(stage.cleo)
    answers = {address: told(client.get(address)).replace(address, "") for address in asked}
    names = (closed.slug, closed.title.lower(), "best of one")
    assert [address for address, said in answers.items() if any(name in said for name in names)] == []


def test_a_revoked_code_takes_back_what_it_opened(stage, browser, closed) -> None:
    InviteCode.objects.filter(used_by=stage.ada).update(revoked_at=NOON + timedelta(days=1))
    assert browser(stage.ada).get(f"/boards/{closed.slug}").status_code == 404


def test_who_competed_before_it_was_closed_stays_in_it(stage, browser, closed) -> None:
    InviteCode.objects.filter(used_by=stage.ada).delete()
    assert browser(stage.ada).get(f"/boards/{closed.slug}").status_code == 200


@pytest.mark.parametrize("role", ["viewer", "reviewer", "owner"])
def test_who_has_a_role_sees_all_of_it(stage, browser, closed, role) -> None:
    closed.competition.roles.create(user=stage.cleo, role=role)
    assert browser(stage.cleo).get(f"/boards/{closed.slug}").status_code == 200


def test_an_unlisted_one_is_read_at_its_address_and_in_no_list(stage, browser, closed) -> None:
    Competition.objects.filter(pk=closed.competition_id).update(visibility=UNLISTED)
    nobody = browser(None)
    assert nobody.get(f"/boards/{closed.slug}").status_code == 200
    assert nobody.get(f"/api/v1/boards/{closed.slug}").status_code == 200
    for address in ("/", "/boards", "/api/v1/boards"):
        assert WORD not in told(nobody.get(address))
        assert WORD in told(browser(stage.ada).get(address)), "who competes in it finds it in lists"
    with pytest.raises(UserError) as caught:
        stage.submit(stage.cleo, board=Board(slug="hushhush-gemn", hardware="cpu"))
    assert closed.slug not in caught.value.message
