"""`photofinish team` and `admin`: each command sends one act and prints its result."""

import io
import json
import sys
from pathlib import Path

import pytest

from leaderboard.cli import organising
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

TEAM = {
    "entrant": {"shown_name": "fast ones", "team": True, "division": "human"},
    "people_fixed": "",
    "members": [{"username": "ada", "captain": True, "joined_at": "2026-01-01T00:00:00Z"}],
    "waiting": [{"id": 3, "username": "ben"}],
    "invites": [],
}


@pytest.mark.parametrize(
    ("arguments", "path", "sent"),
    [
        (["create", "summer", "fast ones"], "create", {"name": "fast ones"}),
        (["leave", "summer"], "leave", {}),
        (["rename", "summer", "x"], "rename", {"name": "x"}),
        (["invite", "summer", "ben"], "invite", {"username": "ben"}),
        (["withdraw", "summer", "3"], "withdraw", {"invite": 3}),
        (["remove", "summer", "ben"], "remove", {"username": "ben"}),
        (["hand-over", "summer", "ben"], "hand-over", {"username": "ben"}),
        (["division", "summer", "agent", "--model", "m"], "division", {"division": "agent", "model_name": "m"}),
        (["cost", "summer", "12.50"], "cost", {"cost_usd": "12.50"}),
        (["pseudonym", "summer", "owl"], "pseudonym", {"pseudonym": "owl"}),
        (["declare", "summer", "best", "young"], "declare", {"declared": ["best", "young"]}),
    ],
)
def test_team_command_sends_its_act(
    site: FakeSite, photofinish: Photofinish, arguments: list[str], path: str, sent: dict[str, object]
) -> None:
    site.act_answer = TEAM
    ended = photofinish("team", *arguments)
    assert ended.code == 0
    assert site.acts == [(f"/competitions/summer/team/{path}", sent)]
    assert ended.out.splitlines()[0] == "team fast ones, division human"
    assert "ada\tcaptain\t2026-01-01 00:00 UTC" in ended.out
    assert "3\tben" in ended.out


def test_invites_are_listed_and_accepted(site: FakeSite, photofinish: Photofinish) -> None:
    invite = {"id": 4, "competition": "summer", "team": "fast ones", "invited_by": "ben", "created_at": None}
    site.more["/invites"] = [invite]
    assert "4\tsummer\tfast ones\tben" in photofinish("team", "invites").out
    site.act_answer = TEAM
    assert json.loads(photofinish("team", "accept", "4", "--json").out) == TEAM
    assert site.acts == [("/invites/4/accept", {})]


@pytest.mark.parametrize(
    ("arguments", "path", "answer", "expected"),
    [
        (["stop"], "/admin/stop", {"accepting": False}, "takes no submissions"),
        (["start"], "/admin/start", {"accepting": True}, "The site takes submissions."),
        (["invite", "summer", "2"], "/organise/summer/codes", {"codes": ["pfi_a", "pfi_b"]}, "pfi_a\npfi_b"),
        (
            ["revoke", "summer", "pfi_a"],
            "/organise/summer/codes/revoke",
            {"prefix": "pfi_a", "was_used": True},
            "loses",
        ),
        (["remove-board", "summer", "x"], "/organise/summer/boards/remove", {"removed": 1, "closed": 0}, "1 removed"),
        (["create", "summer", "Summer"], "/organise", {"name": "Summer"}, "/organise/summer"),
        (["delete", "summer", "--reason", "x", "--yes"], "/organise/summer/delete", {}, "summer is deleted."),
        (
            ["close-board", "summer", "softmax", "cpu", "--reason", "x"],
            "/organise/summer/boards/close",
            {"slug": "softmax", "hardware": "cpu", "deadline": "2027-01-01T00:00:00Z"},
            "softmax on cpu closed at 2027-01-01 00:00 UTC.",
        ),
        (
            ["standing", "summer", "freeze", "--reason", "x"],
            "/organise/summer/standing/freeze",
            {"phase": "frozen", "frozen": True, "held": 1, "unjudged": 0},
            "summer: frozen, frozen; 1 held, 0 not judged",
        ),
    ],
)
def test_admin_command_sends_its_act(
    site: FakeSite, photofinish: Photofinish, arguments: list[str], path: str, answer: dict[str, object], expected: str
) -> None:
    site.act_answer = answer
    ended = photofinish("admin", *arguments)
    assert ended.code == 0
    assert site.acts[0][0] == path
    assert expected in ended.out


@pytest.mark.parametrize(
    ("boards", "expected"),
    [
        ([{"slug": "softmax", "hardware": "cpu"}], "Summer is public.\n"),
        ([], "Summer is public. It has no boards yet: `photofinish admin add-board` adds one.\n"),
    ],
)
def test_publish_tells_a_missing_board(
    site: FakeSite, photofinish: Photofinish, boards: list[dict[str, str]], expected: str
) -> None:
    site.act_answer = {"name": "Summer", "visibility": "public"}
    site.more["/organise/summer/boards"] = boards
    assert photofinish("admin", "publish", "summer").out == expected
    assert site.acts == [("/organise/summer", {"reason": "", "visibility": "public"})]


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["name=A B", "max_team_size=3", "deadline=null"], {"name": "A B", "max_team_size": 3, "deadline": None}),
        (['divisions=["human"]', "stays_open=true"], {"divisions": ["human"], "stays_open": True}),
        (["rules=a=b", "description=NaN", "scoring="], {"rules": "a=b", "description": "NaN", "scoring": ""}),
    ],
)
def test_admin_edit_reads_json_or_text(
    site: FakeSite, photofinish: Photofinish, words: list[str], sent: dict[str, object]
) -> None:
    site.act_answer = {"name": "Summer"}
    assert photofinish("admin", "edit", "summer", *words, "--reason", "later").code == 0
    assert site.acts == [("/organise/summer", {"reason": "later"} | sent)]


def test_admin_edit_reads_a_text_from_a_file(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.act_answer = {"name": "Summer"}
    photofinish("admin", "edit", "summer", f"rules=@{kernel}")
    assert site.acts[0][1]["rules"] == kernel.read_text()
    kernel.write_bytes(b"\xff")
    assert "is not UTF-8" in photofinish("admin", "edit", "summer", f"rules=@{kernel}").err
    missing = photofinish("admin", "edit", "summer", "rules=@/nowhere")
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    wrong = photofinish("admin", "edit", "summer", "rules")
    assert (wrong.code, "FIELD=VALUE" in wrong.err) == (2, True)


def test_admin_call_makes_any_call(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/organise/summer/tracks"] = [{"slug": "best"}]
    assert json.loads(photofinish("admin", "call", "organise/summer/tracks").out) == [{"slug": "best"}]
    assert photofinish("admin", "call", "/api/v1/organise/summer/tracks", "limit=3", "--get").code == 0
    site.act_answer = {"state": "announced"}
    ended = photofinish("admin", "call", "organise/summer/tracks/best/award/announce", "--post")
    assert json.loads(ended.out) == {"state": "announced"}
    assert site.acts == [("/organise/summer/tracks/best/award/announce", {})]
    outside = photofinish("admin", "call", "organise/../../admin")
    assert (outside.code, len(site.acts)) == (2, 1)


GIT_SET = {
    "id": 7,
    "filename": "git.example.org/team/sets",
    "waiting": True,
    "fault": "",
    "applied_at": None,
    "counts": {"created": 1},
    "sets": [{"competition": "course", "problems": [{"problem": "scale", "status": "created", "hardware": ["cpu"]}]}],
}


@pytest.fixture
def git_set(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a set that the site has fetched when it is asked again."""
    monkeypatch.setattr(organising, "POLL_S", 0.01)
    site.act_answer = GIT_SET
    site.more["/sets/7"] = GIT_SET | {"waiting": False}
    return "https://git.example.org/team/sets"


def test_admin_import_waits_for_a_git_address_and_previews_it(
    site: FakeSite, photofinish: Photofinish, git_set: str
) -> None:
    told = ("--ref", "v2", "--folder", "spring", "--hardware", "cpu", "--precision", "bf16")
    ended = photofinish("admin", "import", git_set, *told)
    assert (ended.code, "course\tscale\tcreated\tcpu" in ended.out) == (0, True)
    assert "is not imported; --yes imports it" in ended.out
    place = {"address": git_set, "ref": "v2", "folder": "spring", "precision": "bf16"}
    assert site.acts == [("/sets/git", place | {"hardware": ["cpu"], "without_deadlines": False})]
    found = json.loads(photofinish("admin", "import", git_set, "--yes", "--json").out)
    assert (found["id"], [path for path, _ in site.acts[1:]]) == (7, ["/sets/git", "/sets/7/apply"])


def test_admin_import_ends_with_1_if_the_site_cannot_fetch(
    site: FakeSite, photofinish: Photofinish, git_set: str
) -> None:
    site.more["/sets/7"] = GIT_SET | {"waiting": False, "fault": "there is no such branch", "counts": {}, "sets": []}
    ended = photofinish("admin", "import", git_set, "--yes")
    assert (ended.code, "cannot be fetched: there is no such branch" in ended.out) == (1, True)
    assert len(site.acts) == 1, "nothing is applied"


def test_admin_import_discards_a_preview_that_is_declined(
    site: FakeSite, photofinish: Photofinish, git_set: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organising, "can_ask", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    ended = photofinish("admin", "import", git_set)
    assert (ended.code, "is discarded" in ended.out) == (0, True)
    assert [path for path, _ in site.acts] == ["/sets/git", "/sets/7/discard"]


def test_admin_import_names_a_file_whose_name_is_not_text(
    site: FakeSite, photofinish: Photofinish, tmp_path: Path
) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "a\udcff.py").touch()
    ended = photofinish("admin", "import", str(folder))
    assert (ended.code, "'a\\udcff.py': its name is not text" in ended.err, site.acts) == (2, True, [])


def test_admin_import_takes_a_ref_with_an_address_alone(
    site: FakeSite, photofinish: Photofinish, tmp_path: Path
) -> None:
    ended = photofinish("admin", "import", str(tmp_path), "--ref", "main")
    assert (ended.code, "--ref and --folder belong to" in ended.err, site.acts) == (2, True, [])


def test_admin_delete_asks_first(site: FakeSite, photofinish: Photofinish) -> None:
    ended = photofinish("admin", "delete", "summer", "--reason", "x")
    assert (ended.code, "--yes" in ended.err, site.acts) == (2, True, [])


def test_admin_state_and_boards_are_tables(site: FakeSite, photofinish: Photofinish) -> None:
    queue = {"hardware": "cpu", "queued": 2, "running": 1, "runners": 1, "oldest": "3 min"}
    work = {"count": 1, "what": "held for review"}
    site.more["/organise/summer/state"] = {"waiting": [work], "queues": [queue], "runners": []}
    shown = photofinish("admin", "state", "summer").out
    assert shown.startswith("1 held for review\n")
    assert "cpu\t2\t1\t1\t3 min" in shown
    board = {"slug": "softmax", "hardware": "cpu", "problem": "softmax", "deadline": None, "tags": ["fast"]}
    site.more["/organise/summer/boards"] = [board | {"digest": "sha256:0"}]
    assert "softmax\tcpu\tsoftmax\tnone\tfast\tsha256:0" in photofinish("admin", "boards", "summer").out


def test_admin_stats_and_codes_are_tables(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/admin/stats"] = {"num_submissions": 12, "runs_passed": 7}
    assert "submissions\t12\nruns passed\t7\n" in photofinish("admin", "stats", "--last-day").out
    code = {"prefix": "pfi_ab", "opens_all": False, "boards": ["softmax"], "used_by": None, "created_at": None}
    site.more["/organise/summer/codes"] = [code]
    assert "pfi_ab…\tsoftmax" in photofinish("admin", "codes", "summer").out
