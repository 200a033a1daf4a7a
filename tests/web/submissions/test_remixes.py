"""A remix names its original for good, and nobody learns of an original that they cannot see."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.competitions.models import CLOSED, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import take_pseudonym
from leaderboard.errors import UserError
from leaderboard.standings.publish import retract
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Draft, Submission
from leaderboard.submissions.permissions import release_code
from tests.leaderboard.stage import SOURCE

CODE = SOURCE.decode() + "# a remix\n"


def send(stage, owner, origin: int | None, ratio: float = 0.8) -> Submission:
    data = CODE + f"KERNEL = {stage.sent}\n"
    stage.sent += 1
    upload = Upload("softmax", "cpu", "ranked", "mix.py", data.encode(), remixed_from=origin)
    submission = pipeline.submit(upload, owner=owner, now=stage.later(1))
    stage.judge(submission, ratio=ratio, score_us=1000 * ratio)
    return submission


@pytest.fixture
def original(stage) -> Submission:
    """Ada's entry, whose code is public."""
    stage.now = timezone.now() - timedelta(hours=2)
    submission = stage.submit(stage.ada)
    stage.judge(submission, ratio=0.9)
    release_code(submission=submission, actor=stage.ada, now=stage.now)
    return submission


def text_of(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_a_remix_is_sent_from_the_editor_and_shown_on_both_pages(stage, browser, original) -> None:
    ben = browser(stage.ben)
    assert f'href="/boards/softmax/submit?remix={original.pk}">Remix</a>' in text_of(ben, f"/entries/{original.pk}")
    page = text_of(ben, f"/boards/softmax/submit?remix={original.pk}")
    assert original.source.splitlines()[-1] in page
    assert f'name="remixed_from" value="{original.pk}"' in page
    form = {"code": CODE, "mode": "ranked", "hardware": "cpu", "licence": "MIT", "remixed_from": original.pk}
    answer = ben.post("/boards/softmax/submit", form)
    remix = Submission.objects.get(owner=stage.ben)
    assert answer.headers["Location"] == f"/submissions/{remix.pk}"
    assert remix.remixed_from == original
    stage.judge(remix, ratio=0.8)
    for client in (ben, browser(None)):
        assert f'Remix of <a href="/entries/{original.pk}">#{original.pk}</a> by ada' in text_of(
            client, f"/entries/{remix.pk}"
        )
        assert "<summary>1 remix</summary>" in text_of(client, f"/entries/{original.pk}")
        assert f'<a href="/entries/{remix.pk}">#{remix.pk}</a> by ben' in text_of(client, f"/entries/{original.pk}")
    assert f"#{original.pk}</a> by ada" in text_of(ben, f"/submissions/{remix.pk}")
    assert "Remix</a>" not in text_of(browser(stage.ada), f"/entries/{original.pk}"), "it is her own"


def test_the_api_takes_and_shows_the_origin(stage, tool, browser, original) -> None:
    sent = {"board": "softmax", "hardware": "cpu", "mode": "ranked", "code": CODE, "remixed_from": original.pk}
    made = tool(stage.ben).post("/api/v1/submissions", sent, content_type="application/json")
    assert made.status_code == 201, made.content
    pk = made.json()["id"]
    stage.judge(Submission.objects.get(pk=pk), ratio=0.8)
    assert tool(stage.ben).get(f"/api/v1/submissions/{pk}").json()["remixed_from"] == original.pk
    assert browser(None).get(f"/api/v1/entries/{pk}").json()["remixed_from"] == original.pk
    assert browser(None).get(f"/api/v1/entries/{original.pk}").json()["remixes"] == [pk]
    for wrong in (0, -1, 2**63, "x"):
        refused = tool(stage.ben).post(
            "/api/v1/submissions", sent | {"remixed_from": wrong}, content_type="application/json"
        )
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "remixed_from")


def test_private_and_absent_originals_are_refused_alike(stage, original) -> None:
    private = stage.submit(stage.cleo)
    stage.judge(private, ratio=0.85)
    texts = []
    for pk in (private.pk, 10**9):
        with pytest.raises(UserError) as refused:
            send(stage, stage.ben, pk)
        assert (refused.value.field, refused.value.status) == ("remixed_from", 400)
        texts.append(refused.value.message.replace(str(pk), "N"))
    assert texts[0] == texts[1]
    assert send(stage, stage.cleo, private.pk).remixed_from == private


def test_strangers_learn_of_no_original_that_they_cannot_see(stage, browser, original) -> None:
    remix = send(stage, stage.ben, original.pk)
    retract(submission=original, actor=stage.ada, reason="", now=stage.later(1))
    assert "Remix of" not in text_of(browser(None), f"/entries/{remix.pk}")
    assert browser(None).get(f"/api/v1/entries/{remix.pk}").json()["remixed_from"] is None
    assert f"Remix of #{original.pk}." in text_of(browser(stage.ben), f"/submissions/{remix.pk}")


def test_an_own_private_original_is_named_to_its_sender_alone(stage, browser, original) -> None:
    private = stage.submit(stage.cleo, mode="test")
    stage.judge(private)
    remix = send(stage, stage.cleo, private.pk)
    link = f'Remix of <a href="/submissions/{private.pk}">#{private.pk}</a> by cleo'
    assert link in text_of(browser(stage.cleo), f"/entries/{remix.pk}")
    for stranger in (None, stage.ada):
        assert "Remix of" not in text_of(browser(stranger), f"/entries/{remix.pk}")
        assert browser(stranger).get(f"/api/v1/entries/{remix.pk}").json()["remixed_from"] is None


def test_closed_competitions_keep_their_originals_to_themselves(stage, browser, original) -> None:
    remix = send(stage, stage.ben, original.pk)
    other = Competition.objects.create(slug="other", name="Other", visibility=CLOSED)
    stage.board.__class__.objects.filter(pk=stage.board.pk).update(competition=other)
    assert browser(None).get(f"/entries/{remix.pk}").status_code == 404
    assert browser(None).get(f"/entries/{original.pk}").status_code == 404


def test_a_pseudonym_stays_one(stage, browser, original) -> None:
    remix = send(stage, stage.ben, original.pk)
    take_pseudonym(entrant=Entrant.objects.get(name="ada"), actor=stage.ada, pseudonym="Grey Fox", now=stage.later(1))
    page = text_of(browser(None), f"/entries/{remix.pk}")
    assert f"#{original.pk}</a> by Grey Fox" in page
    assert "by ada" not in page


def test_the_attribution_survives_drafts_and_further_sending(stage, browser, original) -> None:
    remix, ben = send(stage, stage.ben, original.pk), browser(stage.ben)
    retract(submission=original, actor=stage.ada, reason="", now=stage.later(1))
    ben.post(f"/submissions/{remix.pk}/send", {"mode": "test"})
    assert Submission.objects.filter(owner=stage.ben, mode="test").get().remixed_from == original
    field = f'name="remixed_from" value="{original.pk}"'
    assert field in text_of(ben, f"/boards/softmax/submit?from={remix.pk}")
    ben.post("/boards/softmax/draft", {"code": CODE, "remixed_from": original.pk})
    assert Draft.objects.get().remixed_from == original.pk
    assert field in text_of(ben, "/boards/softmax/submit")


def test_a_draft_of_a_retracted_original_is_sent_without_its_origin(stage, browser, original) -> None:
    ben, form = browser(stage.ben), {"code": CODE, "mode": "ranked", "hardware": "cpu", "licence": "MIT"}
    ben.post("/boards/softmax/draft", form | {"remixed_from": original.pk})
    retract(submission=original, actor=stage.ada, reason="", now=stage.later(1))
    box = f'<input type="checkbox" name="remixed_from" value="{original.pk}" checked>'
    assert box in text_of(ben, "/boards/softmax/submit")
    refused = ben.post("/boards/softmax/submit", form | {"remixed_from": original.pk})
    assert refused.status_code == 400
    assert "or send the code as no remix" in refused.content.decode()
    assert box in refused.content.decode()
    assert ben.post("/boards/softmax/submit", form).status_code == 302, "without the tick"
    assert Submission.objects.get(owner=stage.ben).remixed_from is None


def test_an_unreadable_original_does_not_open_in_the_editor(stage, browser, original) -> None:
    private = stage.submit(stage.cleo)
    for pk in (private.pk, 10**9, "x"):
        page = text_of(browser(stage.ben), f"/boards/softmax/submit?remix={pk}")
        assert 'name="remixed_from" value' not in page
        assert private.source.splitlines()[-1] not in page
