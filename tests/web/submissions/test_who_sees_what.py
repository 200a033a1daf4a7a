"""A submission belongs to its owner and the organisers; for other people it does not exist."""

import pytest

HELD = {"ratio": 0.2, "score_us": 200.0}
SECRET_MESSAGE = "expected 0.25, got nothing"


def addresses(pk: int) -> list[str]:
    return [f"/submissions/{pk}", f"/api/v1/submissions/{pk}", f"/api/v1/submissions/{pk}/events"]


@pytest.mark.parametrize("stranger", ["ben", "cleo"])
def test_a_stranger_meets_404_everywhere(stage, browser, stranger) -> None:
    pk = stage.submit(stage.ada).pk
    client = browser(getattr(stage, stranger))
    assert {client.get(address).status_code for address in addresses(pk)} == {404}
    assert client.post(f"/submissions/{pk}/cancel").status_code == 404
    for act in ("answer", "appeal"):
        assert client.post(f"/submissions/{pk}/{act}", {"text": "mine"}).status_code == 404


def test_a_stranger_cannot_tell_a_real_id_from_none(stage, browser) -> None:
    pk = stage.submit(stage.ada).pk
    client = browser(stage.cleo)
    real, none = client.get(f"/api/v1/submissions/{pk}"), client.get(f"/api/v1/submissions/{pk + 999}")
    assert (real.status_code, real.content) == (none.status_code, none.content)


def test_owner_and_organiser_see_code_message_and_logs(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission, outcome="wrong", reason="mismatch", message=SECRET_MESSAGE, logs={"stderr": "oh no"})
    for person in (stage.ada, stage.olga):
        page = browser(person).get(f"/submissions/{submission.pk}").content.decode()
        assert SECRET_MESSAGE in page
        assert "oh no" in page
        assert "custom_kernel" in page
        data = browser(person).get(f"/api/v1/submissions/{submission.pk}").json()
        assert data["message"] == SECRET_MESSAGE
        assert data["logs"] == {"stderr": "oh no"}


def test_nobody_is_sent_to_sign_in(stage, browser) -> None:
    pk = stage.submit(stage.ada).pk
    assert browser(None).get(f"/submissions/{pk}").headers["Location"] == f"/sign-in?next=/submissions/{pk}"
    for address in addresses(pk)[1:]:
        assert browser(None).get(address).status_code == 401


def test_lists_show_ones_own_only(stage, browser) -> None:
    stage.submit(stage.ada)
    assert browser(stage.ben).get("/api/v1/submissions").json() == []
    assert len(browser(stage.ada).get("/api/v1/submissions").json()) == 1
    assert browser(stage.olga).get("/api/v1/submissions").json() == [], "the list is the caller's own, for staff too"
    assert b"You have sent nothing yet" in browser(stage.ben).get("/submissions").content


def test_a_held_result_is_invisible_to_others(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission, **HELD)
    for person in (None, stage.cleo, stage.ada):
        client = browser(person)
        assert client.get("/api/v1/boards/softmax/cpu/entries").json() == []
        for address in ("/", "/boards", "/boards/softmax", "/boards/softmax/cpu"):
            assert b"200.0" not in client.get(address).content
    assert client.get(f"/api/v1/submissions/{submission.pk}").json()["review"] == "under_review"
    assert b"Under review." in client.get(f"/submissions/{submission.pk}").content
    assert b"/review/" not in client.get(f"/submissions/{submission.pk}").content


def test_an_organiser_clears_with_a_reason(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    olga = browser(stage.olga)
    assert f"/review/{result.pk}".encode() in olga.get("/review").content
    mute = olga.post(f"/review/{result.pk}/clear", {"reason": " "})
    assert b"Give a reason" in mute.content
    assert browser(None).get("/api/v1/boards/softmax/cpu/entries").json() == []
    olga.post(f"/review/{result.pk}/clear", {"reason": "Read it; it is sound."})
    (entry,) = browser(None).get("/api/v1/boards/softmax/cpu/entries").json()
    assert (entry["user"], entry["rank"], entry["score_us"]) == ("ada", 1, 200.0)
    assert b"Every result that a rule held has been decided." in olga.get("/review").content


def test_a_review_queue_that_was_always_empty_says_so(stage, browser) -> None:
    stage.judge(stage.submit(stage.ada))
    assert b"No rule has held a result so far." in browser(stage.olga).get("/review").content


def test_a_flag_is_explained_to_its_owner(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission, flags=("not_certified",))
    page = browser(stage.ada).get(f"/submissions/{submission.pk}").content
    assert b"could not freeze the containers" in page


def test_a_rejected_owner_reads_the_reason(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    sent = {"code": "reused_results", "reason": "See line 7."}
    browser(stage.olga).post(f"/review/{result.pk}/reject", sent)
    page = browser(stage.ada).get(f"/submissions/{result.attempt.submission_id}").content.decode()
    assert "A reviewer rejected this result" in page
    assert "It reuses results of earlier calls" in page
    assert "See line 7." in page
    assert "olga" not in page


def test_a_second_decision_is_told_off(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    olga = browser(stage.olga)
    olga.post(f"/review/{result.pk}/reject", {"code": "other", "reason": "No."})
    assert olga.post(f"/review/{result.pk}/clear", {"reason": "Yes."}).status_code == 409


@pytest.mark.parametrize("name", ["ada", "ben", "cleo"])
def test_a_case_is_none_for_competitors(stage, browser, name) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    client = browser(getattr(stage, name))
    assert client.get("/review").status_code == 404
    real, none = client.get(f"/review/{result.pk}"), client.get("/review/999999")
    assert (real.status_code, none.status_code) == (404, 404)
    for act in ("clear", "reject", "claim", "note", "undo", "rerun", "suspend"):
        assert client.post(f"/review/{result.pk}/{act}", {"reason": "mine"}).status_code == 404
    held = {"submission": result.attempt.submission_id, "reason": "x"}
    assert client.post("/review/hold", held).status_code == 404
    assert browser(None).get("/api/v1/boards/softmax/cpu/entries").json() == []


def test_a_stranger_cannot_revoke_a_token(stage, browser, tool) -> None:
    client = tool(stage.ada)
    token = stage.ada.tokens.get()
    assert browser(stage.cleo).post(f"/tokens/{token.pk}/revoke").status_code == 404
    assert client.get("/api/v1/me").status_code == 200
    assert browser(stage.ada).post(f"/tokens/{token.pk}/revoke").status_code == 302
    assert client.get("/api/v1/me").status_code == 401
