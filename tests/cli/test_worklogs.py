"""`photofinish match worklog`: section files, revisions, and refusals that lose no text."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

TITLES = {"plan": "Plan", "hand": "By hand", "model": "Model", "head_to_head": "Head-to-head", "stuck": "Stuck"}
FACT = {"name": "version 1", "text": "2.000×, correct", "speedup": 2.0, "submission": 12, "url": "/matches/3/human/1"}


def worklog(**texts: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "match": {"id": 3},
        "titles": TITLES,
        "texts": dict.fromkeys(TITLES, "") | texts,
        "missing": [name for name in TITLES if name not in texts],
        "facts": {name: [FACT] if name == "hand" else [] for name in TITLES},
        "extracts": {name: [] for name in TITLES},
        "hand_in": None,
        "revisions": dict.fromkeys(texts, 2),
    }


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home / "worklog-3"


def test_worklog_is_shown_with_facts_and_empty_sections(photofinish: Photofinish, site: FakeSite) -> None:
    site.more["/matches/3/worklog"] = worklog(plan="A plan.")
    site.more["/matches/3/worklog/hand-ins"] = [{"id": 9, "by": "ada", "at": "2026-01-02T03:04:05Z", "digest": ""}]
    shown = photofinish("match", "worklog", "show", "3")
    assert "version 1: 2.000×, correct (#12)" in shown.out
    assert "2026-01-02 03:04 UTC" in shown.out
    assert "still empty: By hand, Model, Head-to-head, Stuck" in shown.err
    assert json.loads(photofinish("match", "worklog", "show", "3", "--json").out) == worklog(plan="A plan.")


def test_section_is_pulled_changed_and_pushed_with_its_revision(
    photofinish: Photofinish, site: FakeSite, folder: Path
) -> None:
    site.more["/matches/3/worklog"] = worklog(plan="A plan.")
    assert "worklog-3/plan.md" in photofinish("match", "worklog", "pull", "3").out
    assert (folder / "plan.md").read_text() == "A plan.\n"
    (folder / "plan.md").write_text("A better plan.\n")
    site.act_answer = {"section": "plan", "revision": 3}
    assert "plan: saved as revision 3" in photofinish("match", "worklog", "push", "3", "plan").out
    assert site.acts == [("/matches/3/worklog/plan", {"text": "A better plan.\n", "revision": 2})]
    site.act_answer = {"section": "hand", "revision": 1}
    photofinish("match", "worklog", "push", "3", "hand")
    photofinish("match", "worklog", "push", "3", "plan", "--revision", "7")
    assert [body["revision"] for _, body in site.acts] == [2, 0, 7]


def test_pull_keeps_a_changed_file(photofinish: Photofinish, site: FakeSite, folder: Path) -> None:
    site.more["/matches/3/worklog"] = worklog(plan="A plan.")
    photofinish("match", "worklog", "pull", "3")
    site.more["/matches/3/worklog"] = worklog(plan="A plan of a mate.")
    assert photofinish("match", "worklog", "pull", "3").code == 0, "nothing was changed here"
    (folder / "plan.md").write_text("Mine.")
    site.more["/matches/3/worklog"] = worklog(plan="Theirs.")
    refused = photofinish("match", "worklog", "pull", "3")
    assert (refused.code, "plan.md: changed here" in refused.err) == (2, True), refused.err
    assert (folder / "plan.md").read_text() == "Mine."
    assert photofinish("match", "worklog", "pull", "3", "--force").code == 0
    assert (folder / "plan.md").read_text() == "Theirs.\n"


@pytest.mark.parametrize(
    ("arguments", "state", "words"),
    [
        (("push", "3", "poem"), None, "section: 'poem' is not one of plan, hand"),
        (("push", "3", "plan"), None, "plan.md: No such file"),
        (("push", "3", "stuck"), None, "was not pulled; run `photofinish match worklog pull 3`"),
        (("push", "3", "stuck"), '{"match": "4", "sections": {}}', "has the worklog of match 4"),
        (("push", "3", "stuck"), '{"match": "3", "sections": 7}', ".worklog.json: damaged"),
        (("push", "3", "hand"), None, "hand.md: not UTF-8"),
        (("push", "3", "model"), None, "model.md: over 100,000 bytes"),
        (("show", "three"), None, "MATCH: 'three' is not the number of a match"),
    ],
)
def test_wrong_use_of_a_worklog_is_named(
    photofinish: Photofinish, site: FakeSite, folder: Path, arguments: tuple[str, ...], state: str | None, words: str
) -> None:
    folder.mkdir()
    (folder / "hand.md").write_bytes(b"\xff")
    (folder / "model.md").write_text("x" * 100_001)
    (folder / "stuck.md").write_text("x")
    if state is not None:
        (folder / ".worklog.json").write_text(state)
    ended = photofinish("match", "worklog", *arguments)
    assert (ended.code, words in ended.err) == (2, True), ended.err
    assert not site.acts


def test_hand_in_names_empty_sections(photofinish: Photofinish, site: FakeSite) -> None:
    site.act_answer = {"id": 9, "at": "2026-01-02T03:04:05Z", "missing": ["stuck"], "digest": "", "by": "ada"}
    ended = photofinish("match", "worklog", "hand-in", "3")
    assert "handed in as 9 at 2026-01-02 03:04 UTC; still empty: stuck" in ended.out


def test_worklog_is_exported_as_one_json_file(photofinish: Photofinish, site: FakeSite, home: Path) -> None:
    site.more["/matches/3/worklog"] = worklog(plan="A plan.")
    assert json.loads(photofinish("match", "worklog", "export", "3", "--json").out) == worklog(plan="A plan.")
    photofinish("match", "worklog", "export", "3", "--json", "--to", str(home / "out" / "w.json"))
    assert json.loads((home / "out" / "w.json").read_text()) == worklog(plan="A plan.")
