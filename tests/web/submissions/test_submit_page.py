"""The submit page: file or pasted code, with errors beside the field and the input preserved."""

import html
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.judging.lease import clock
from tests.leaderboard.stage import make_board, make_problem

CODE = "def custom_kernel(data):\n    return data\n"
ADDRESS = "/boards/softmax/submit"


def send(client, **changes):
    return client.post(ADDRESS, {"mode": "test", "hardware": "cpu", "code": CODE} | changes)


def upload(data: bytes, name: str = "kernel.py"):
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile(name, data)


def test_pasted_code_is_queued(stage, browser) -> None:
    answer = send(browser(stage.ada), code=CODE.replace("\n", "\r\n"), mode="ranked")
    submission = stage.ada.submissions.get()
    assert answer.headers["Location"] == f"/submissions/{submission.pk}"
    assert (submission.source, submission.mode, submission.filename) == (CODE, "ranked", "submission.py")


def test_a_file_wins_over_pasted_code(stage, browser) -> None:
    send(browser(stage.ada), file=upload(b"# from a file\n" + CODE.encode()))
    submission = stage.ada.submissions.get()
    assert submission.source.startswith("# from a file")
    assert submission.filename == "kernel.py"


@pytest.mark.parametrize(
    ("changes", "beside", "status"),
    [
        ({"code": ""}, "id_code_error", 400),
        ({"code": "   \n"}, "id_code_error", 400),
        ({"mode": "rank"}, "id_mode_error", 400),
        ({"hardware": "tpu"}, "id_hardware_error", 400),
        ({"hardware": "a\0b"}, "id_hardware_error", 400),
        ({"mode": "a\0b"}, "id_mode_error", 400),
        ({"licence": "a\0b"}, "id_licence_error", 400),
        ({"filename": "a\0b"}, "id_filename_error", 400),
        ({"code": CODE + "\0"}, "id_code_error", 400),
        ({"file": b""}, "id_file_error", 400),
        ({"file": b"\xff\xfe\x00"}, "id_file_error", 400),
        ({"file": b"x = 1\x00"}, "id_file_error", 400),
        ({"file": b"#" * 1_000_001}, "id_file_error", 413),
    ],
)
def test_an_error_stands_beside_its_field(stage, browser, changes, beside, status) -> None:
    if "file" in changes:
        changes = changes | {"file": upload(changes["file"])}
    answer = send(browser(stage.ada), **changes)
    page = answer.content.decode()
    assert answer.status_code == status
    assert f'id="{beside}"' in page
    assert "custom_kernel" in page or not changes.get("code", "x").strip(), "what was typed is still there"
    assert not stage.ada.submissions.exists()


def test_a_file_that_is_too_large_is_told_its_real_size(stage, browser, tool) -> None:
    page = send(browser(stage.ada), file=upload(b"#" * 2_000_000)).content.decode()
    assert "2,000,000 bytes; a submission has at most 1,000,000" in page
    answer = tool(stage.ada).post("/api/v1/submissions", {"mode": "test", "file": upload(b"#" * 2_000_000)})
    assert answer.status_code == 413
    assert "2,000,000 bytes" in answer.json()["detail"]


def test_a_wrong_file_name_is_named(stage, browser) -> None:
    page = send(browser(stage.ada), file=upload(CODE.encode(), "kernel.exe")).content.decode()
    assert "must end in .py" in page
    assert 'id="id_file_error"' in page


def test_a_late_one_is_told_so(stage, browser) -> None:
    from django.utils import timezone

    type(stage.board).objects.filter(pk=stage.board.pk).update(deadline=timezone.now())
    answer = send(browser(stage.ada))
    assert answer.status_code == 409
    assert b"Closed: its deadline was" in answer.content


def test_the_quota_answers_429_with_a_time(stage, browser, settings) -> None:
    settings.UNFINISHED_AT_ONCE = 1
    client = browser(stage.ada)
    assert send(client).status_code == 302
    answer = send(client)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert b"at most 1 may at once" in answer.content


def test_what_is_left_is_shown_before_submitting(stage, browser) -> None:
    type(stage.board.competition).objects.update(quotas={"ranked": 1})
    client = browser(stage.ada)
    assert '<span class="figure">1 of 1</span> left</span>' in client.get(ADDRESS).content.decode()
    assert send(client, mode="ranked").status_code == 302
    assert '<span class="figure">0 of 1</span> left, the next one <time' in client.get(ADDRESS).content.decode()
    answer = send(client, mode="ranked")
    page = answer.content.decode()
    assert (answer.status_code, 'id="id_mode_error"' in page) == (429, True)
    assert "None left of your 1 ranked submissions to softmax on cpu" in page
    assert 86_000 < int(answer.headers["Retry-After"]) <= 86_400
    assert send(client, mode="test").status_code == 302


def test_the_choice_of_the_link_is_made_already(stage, browser) -> None:
    page = browser(stage.ada).get(ADDRESS + "?mode=ranked&hardware=cpu").content.decode()
    assert 'value="ranked" checked' in page
    assert 'value="cpu" checked' in page


def test_the_owner_may_cancel(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    client = browser(stage.ada)
    client.post(f"/submissions/{submission.pk}/cancel")
    assert client.get(f"/api/v1/submissions/{submission.pk}").json()["status"] == "cancelled"
    again = client.post(f"/submissions/{submission.pk}/cancel", follow=True)
    assert b"Not cancelled" in again.content


def test_code_that_names_another_board_is_refused_on_the_submit_page(stage, browser) -> None:
    make_board("vectoradd")
    code = "#!PHOTOFINISH leaderboard vectoradd\nx = 1\n"
    answer = browser(stage.ada).post(ADDRESS, {"code": code, "mode": "test", "hardware": "cpu"})
    assert answer.status_code == 400
    page = html.unescape(answer.content.decode())
    assert "The code names the board “vectoradd”, but this page submits to “softmax”; remove that line" in page
    assert code in page, "what was typed is still there"
    assert not stage.ada.submissions.exists()


def test_a_starter_names_the_board_that_shows_it(stage, browser) -> None:
    """A clone's boards have other names than the problem's files."""
    told = make_problem(templates={"Python": "#!PHOTOFINISH leaderboard vectoradd\n" + CODE})
    version = ProblemVersion.objects.create(digest=told.digest, problem=stage.board.problem, bundle=told.to_bundle())
    Board.objects.update(version=version)
    client, expected = browser(stage.ada), "#!PHOTOFINISH leaderboard softmax\n" + CODE
    assert expected in client.get(ADDRESS).content.decode()
    assert client.get("/boards/softmax/files/starter_python.py").content.decode() == expected
    assert client.get("/api/v1/boards/softmax").json()["templates"] == {"Python": expected}
    problem = client.get("/api/v1/boards/softmax/problem").json()["problem"]
    assert problem["templates"] == {"Python": expected}
    assert send(client, code=expected).status_code == 302


def test_a_submissions_page_says_which_directive_was_overruled(stage, browser) -> None:
    make_board("softmax", "H200")
    code = "#!PHOTOFINISH leaderboard SOFTMAX\n#!PHOTOFINISH gpu h200\nx = 1\n"
    sent = browser(stage.ada).post(ADDRESS, {"code": code, "mode": "test", "hardware": "cpu"})
    page = browser(stage.ada).get(sent["Location"]).content.decode()
    assert "The file names the hardware h200, but it was sent to cpu, and that counts." in page


def test_starters_fit_the_hardware_and_each_language_has_its_own_file(stage, browser) -> None:
    languages = {"Python": "py", "C": "in c", "C++": "in cpp", "CUDA": "in cuda", "Triton": "in triton"}
    told = make_problem(templates=languages)
    version = ProblemVersion.objects.create(digest=told.digest, problem=stage.board.problem, bundle=told.to_bundle())
    Board.objects.update(version=version)
    client = browser(stage.ada)
    for address in ("/boards/softmax", ADDRESS):
        page = client.get(address).content.decode()
        assert "C starter" in page
        assert "C++ starter" in page
        assert "CUDA starter" not in page, "there is no GPU to run it on"
        assert "Triton starter" not in page
    assert client.get("/boards/softmax/files/starter_c.py").content == b"in c"
    assert client.get("/boards/softmax/files/starter_cpp.py").content == b"in cpp"
    Board.objects.filter(pk=make_board("softmax", "H200").pk).update(version=version)
    assert "CUDA starter" in client.get("/boards/softmax").content.decode()


@pytest.mark.parametrize("way", ["page", "api"])
def test_a_web_host_with_a_wrong_clock_dates_no_submission(stage, browser, tool, monkeypatch, way) -> None:
    before, late = clock(), timezone.now() + timedelta(minutes=10)
    monkeypatch.setattr("django.utils.timezone.now", lambda: late)
    if way == "page":
        send(browser(stage.ada))
    else:
        sent = {"board": "softmax", "hardware": "cpu", "mode": "test", "code": CODE}
        tool(stage.ada).post("/api/v1/submissions", sent, content_type="application/json")
    assert before < stage.ada.submissions.get().created_at < clock()
