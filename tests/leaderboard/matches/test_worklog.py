"""The worklog: facts fill themselves, saves do not overwrite each other, a hand-in keeps what it had."""

import io
import json
import zipfile

import pytest
from django.db import DatabaseError, transaction

from leaderboard import pipeline
from leaderboard.competitions.models import Role
from leaderboard.errors import UserError
from leaderboard.matches import worklog
from leaderboard.matches.document import as_markdown, linked, links_of
from leaderboard.matches.models import SECTIONS, HandIn, Match, SectionText
from leaderboard.matches.permissions import reads_worklog
from leaderboard.matches.worklog import Conflict, digest_of, hand_in, save_section, worklog_of
from leaderboard.web.accounts.export import export_of
from tests.leaderboard.matches.test_matches import opened
from tests.leaderboard.stage import Stage
from tests.web.matches.test_match_pages import played


def saved(stage: Stage, match: Match, text: str = "A plan.", **told: object) -> SectionText:
    given = {"section": "plan", "revision": 0, "author": stage.ada}
    return save_section(match=match, text=text, **(given | told), now=stage.later(1))  # type: ignore[arg-type]


def texts(document: dict, section: str) -> str:
    return "\n".join(f"{fact['name']}: {fact['text']}" for fact in document["facts"][section])


def test_facts_fill_every_section(stage: Stage) -> None:
    match = played(stage, human=(None, 0.5), machine=(None, None, 0.8))
    document = worklog_of(match, stage.now)
    assert document["missing"] == list(SECTIONS)
    assert "prediction: memory-bound, 2.000×; committed " in texts(document, "plan")
    assert "version 1: wrong: mismatch; sent " in texts(document, "hand")
    assert "version 2: 2.000× " in texts(document, "hand")
    assert "; expected 1.500×; reason: change 1" in texts(document, "hand")
    assert "first try: did not pass both gates: wrong: mismatch" in texts(document, "model")
    assert "result: ada leads; by hand over the machine: 1.600×" in texts(document, "head_to_head")
    assert "acme/coder-7b: 2 of 3 versions are not correct" in texts(document, "stuck")
    assert "acme/coder-7b, repeated fault: wrong: mismatch: 2 times" in texts(document, "stuck")
    [diff] = document["extracts"]["hand"]
    assert (diff["title"], diff["kind"]) == ("From version 1 to version 2", "diff")
    assert "+N = " in diff["text"]
    assert [one["title"] for one in document["extracts"]["model"][:2]] == ["Prompt of version 1", "Answer of version 1"]


def test_figures_have_the_submission_that_they_come_from(stage: Stage) -> None:
    match = played(stage, human=(0.5,), machine=(0.8,))
    document = worklog_of(match, stage.now)
    human, machine = (match.versions.get(side=side).submission_id for side in ("human", "machine"))
    assert links_of(document) == {human: f"/matches/{match.pk}/human/1", machine: f"/matches/{match.pk}/machine/1"}
    [fact] = document["facts"]["hand"]
    assert (fact["speedup"], fact["submission"]) == (2.0, human)
    assert 0 < fact["half_width"] < 1


def test_runs_are_data_beside_the_facts(stage: Stage) -> None:
    match = played(stage, human=(None, 0.5), machine=(0.8,))
    runs = worklog_of(match, stage.now)["runs"]
    assert runs["predicted_at"] < runs["first_run_at"]
    rows = [(one["side"], one["number"], one["has_reason"], one["passes_both"]) for one in runs["versions"]]
    assert rows == [("human", 1, False, False), ("human", 2, True, True), ("machine", 1, False, True)]


def test_match_without_a_version_has_a_worklog(stage: Stage) -> None:
    document = worklog_of(opened(stage), stage.now)
    assert "prediction: none was committed" in texts(document, "plan")
    assert document["facts"]["hand"] == []


def test_extracts_of_a_section_have_a_limit(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.matches.document.MOST_EXTRACT_CHARS", 25)
    document = worklog_of(played(stage, machine=(0.8, 0.7)), stage.now)
    found = [(len(one["text"]), one["is_cut"]) for one in document["extracts"]["model"]]
    assert found == [(20, False), (5, True), (0, True), (0, True)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is 2× (#12).", "It is 2× ([#12](/m))."),
        ("#12, not #13", "[#12](/m), not #13"),
        ("`#12` and $#12$ and \\#12", "`#12` and $#12$ and \\#12"),
        ("```\n#12\n```\n#12", "```\n#12\n```\n[#12](/m)"),
        ("~~~\n#12", "~~~\n#12"),
        ("[see](/x/#12) x#12 ##12", "[see](/x/#12) x#12 ##12"),
    ],
)
def test_mention_of_a_submission_becomes_a_link(text: str, shown: str) -> None:
    assert linked(text, {12: "/m"}) == shown


def test_save_names_its_revision_and_loses_no_text(stage: Stage) -> None:
    match = played(stage)
    assert saved(stage, match).revision == 1
    assert saved(stage, match).revision == 1, "the same text again, as a client does that had no answer"
    assert saved(stage, match, "Mine.\r\n", revision=1).text == "Mine."
    with pytest.raises(Conflict, match="ada saved revision 2 meanwhile") as caught:
        saved(stage, match, "Another.", revision=1)
    assert (caught.value.stored.text, caught.value.status) == ("Mine.", 409)
    assert saved(stage, match, "Merged.", revision=2).revision == 3


@pytest.mark.parametrize(
    ("told", "field", "status"),
    [
        ({"section": "poem"}, "section", 404),
        ({"text": "x" * 20_001}, "text", 413),
        ({"text": "a\x00"}, "text", 400),
        ({"revision": 4}, "revision", 409),
    ],
)
def test_wrong_save_names_its_field(stage: Stage, told: dict, field: str, status: int) -> None:
    with pytest.raises(UserError) as caught:
        saved(stage, played(stage), **told)
    assert (caught.value.field, caught.value.status) == (field, status)


def test_worklog_is_of_its_authors_and_the_staff(stage: Stage) -> None:
    match = played(stage)
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.REVIEWER)
    assert [reads_worklog(user, match) for user in (stage.ada, stage.cleo, stage.ben)] == [True, True, False]
    for act in (saved, lambda stage, match, **told: hand_in(match=match, now=stage.now, **told)):
        with pytest.raises(UserError, match="only ada writes this side"):
            act(stage, match, author=stage.cleo)


def test_hand_in_keeps_the_worklog_as_it_was(stage: Stage) -> None:
    match = played(stage, human=(0.5,))
    with pytest.raises(UserError, match="every section is empty"):
        hand_in(match=match, author=stage.ada, now=stage.now)
    saved(stage, match)
    first = hand_in(match=match, author=stage.ada, now=stage.later(1))
    assert hand_in(match=match, author=stage.ada, now=stage.later(1)) == first
    saved(stage, match, "A better plan.", revision=1)
    second = hand_in(match=match, author=stage.ada, now=stage.later(1))
    kept = HandIn.objects.get(pk=first.pk)
    assert (kept.document["texts"]["plan"], kept.digest) == ("A plan.", digest_of(kept.document))
    assert match.hand_ins.first() == second
    assert second.document["missing"] == ["hand", "model", "head_to_head", "stuck"]
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        HandIn.objects.filter(pk=first.pk).delete()


def test_hand_ins_of_a_match_have_a_limit(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worklog, "MOST_HAND_INS", 1)
    match = played(stage)
    saved(stage, match)
    hand_in(match=match, author=stage.ada, now=stage.now)
    saved(stage, match, "More.", revision=1)
    with pytest.raises(UserError, match="which is the most"):
        hand_in(match=match, author=stage.ada, now=stage.now)


def test_markdown_has_texts_facts_and_extracts(stage: Stage) -> None:
    match = played(stage, human=(None, 0.5), machine=(0.8,))
    number = match.versions.get(side="human", number=2).submission_id
    saved(stage, match, f"Twice as fast (#{number}), as $x^2$ says.")
    text = as_markdown(worklog_of(match, stage.now), "https://site")
    assert text.startswith("# ada against acme/coder-7b\n")
    assert f"Twice as fast ([#{number}](https://site/matches/{match.pk}/human/2)), as $x^2$ says." in text
    assert "## The attempt by hand\n\n*Not written yet.*" in text
    assert "```diff\n@@" in text
    assert "````text\nI use vectorised loads.\n```python" in text


def test_erasing_an_account_erases_its_worklogs_and_leaves_those_of_others(stage: Stage) -> None:
    match, other = played(stage), opened(stage, stage.ben)
    saved(stage, match)
    hand_in(match=match, author=stage.ada, now=stage.now)
    saved(stage, other, author=stage.ben)
    hand_in(match=other, author=stage.ben, now=stage.now)
    pipeline.close_account(account=stage.ada, erase=True, now=stage.now)
    assert [one.match for one in SectionText.objects.all()] == [other]
    assert [one.match for one in HandIn.objects.all()] == [other]


def test_export_of_an_account_has_its_worklogs_and_hand_ins(stage: Stage) -> None:
    match, other = played(stage, human=(0.5,)), opened(stage, stage.ben)
    saved(stage, match)
    handed = hand_in(match=match, author=stage.ada, now=stage.now)
    saved(stage, match, "A better plan.", revision=1)
    saved(stage, other, "Ben's plan.", author=stage.ben)
    with zipfile.ZipFile(io.BytesIO(export_of(stage.ada))) as packed:
        data = json.loads(packed.read("account.json"))
        document = json.loads(packed.read(f"worklogs/{match.pk}-{handed.pk}.json"))
    assert [(row["match_id"], row["section"], row["text"]) for row in data["worklogs"]] == [
        (match.pk, "plan", "A better plan.")
    ]
    assert (document["texts"]["plan"], digest_of(document)) == ("A plan.", handed.digest)


def test_handed_in_worklog_keeps_the_order_of_its_sections(stage: Stage) -> None:
    match = played(stage, human=(0.5,))
    saved(stage, match)
    hand_in(match=match, author=stage.ada, now=stage.later(1))
    text = as_markdown(HandIn.objects.get().document, "")
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles[0] == "## Problem and plan"
    assert titles[-1] == "## Where each side got stuck"
