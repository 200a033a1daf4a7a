"""Organisers upload sets as a zip file, see a preview of the import, and import exactly the preview."""

import io
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from leaderboard.admissions.models import FAILED, AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.competitions.importing import MAX_WAITING, take_upload
from leaderboard.competitions.models import Board, Competition, SetUpload
from leaderboard.judging.models import DONE
from tests.web.test_pages_are_strict import check

SET = "name: Course\nproblems:\n  - {directory: c/scale, name: scale, gpus: [cpu]}\n"
TASK = """
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: reference.py, source: reference.py}
description: Scale.
benchmarks: [{size: 4, seed: 1}]
"""
REFERENCE = "def generate_input(size, seed): ...\ndef ref_kernel(data): ...\n"
FILES = {"set.yaml": SET, "c/scale/task.yml": TASK, "c/scale/reference.py": REFERENCE}


def packed(files: dict[str, str] = FILES) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return file.getvalue()


def send(client, data: bytes, name: str = "course.zip"):
    return client.post("/sets", {"archive": SimpleUploadedFile(name, data)})


def test_a_set_is_shown_first_and_then_imported(stage, browser) -> None:
    client = browser(stage.olga)
    empty = client.get("/sets")
    check(empty)
    assert b"No uploads yet" in empty.content
    shown = client.get(send(client, packed())["Location"])
    check(shown)
    assert b"Nothing has changed yet" in shown.content
    assert not Board.objects.filter(slug="scale").exists()
    upload = SetUpload.objects.get()
    done = client.post(f"/sets/{upload.pk}/apply", follow=True)
    check(done)
    assert b"with this result" in done.content
    assert b'href="/boards/scale"' in done.content
    assert Board.objects.get(slug="scale").competition.name == "Course"
    row = Row.objects.get(act="import_set")
    assert row.actor == stage.olga
    assert "course.zip" in row.reason
    upload.refresh_from_db()
    assert (bytes(upload.data), upload.applied_at is None) == (b"", False)
    check(client.get("/sets"))


def test_an_imported_competition_stays_closed_until_it_is_published(stage, browser) -> None:
    client = browser(stage.olga)
    address = send(client, packed())["Location"]
    assert "only its organisers see it, until one of them publishes it" in client.get(address).content.decode()
    client.post(f"{address}/apply")
    board = Board.objects.get(slug="scale")
    for nobody in (browser(None), browser(stage.ada)):
        assert nobody.get("/boards/scale").status_code == 404
        assert nobody.get("/competitions/course").status_code == 404
        assert "Course" not in nobody.get("/").content.decode()
        assert "scale" not in nobody.get("/api/v1/boards").content.decode()
    assert board.competition.roles.get().user == stage.olga
    assert browser(stage.ada).post("/organise/course/publish").status_code == 404
    overview = client.get("/organise/course").content.decode()
    assert "Only organisers and people who used an invite code see this competition" in overview
    done = client.post("/organise/course/publish", follow=True)
    check(done)
    assert b"Everybody can see it now" in done.content
    assert b"/organise/course/publish" not in done.content
    assert browser(None).get("/boards/scale").status_code == 200
    assert Row.objects.get(act="edit_competition").after == {"visibility": "public"}


def test_a_git_address_is_kept_for_the_sweeper_and_its_page_reloads(stage, browser, settings) -> None:
    client = browser(stage.olga)
    wanted = {"address": "https://git.example.org/team/sets", "ref": "main", "folder": "", "hardware": ""}
    assert client.post("/sets/git", wanted).status_code == 404
    assert b"git repository" not in client.get("/sets").content
    settings.PROBLEM_GIT_HOSTS = ["git.example.org/team"]
    assert b"<code>git.example.org/team</code>" in client.get("/sets").content
    refused = client.post("/sets/git", wanted | {"address": "https://git.example.org/other/x"})
    check(refused)
    assert refused.status_code == 400
    assert "allows git.example.org/team, not" in refused.content.decode()
    page = client.post("/sets/git", wanted, follow=True)
    check(page)
    assert b'http-equiv="refresh"' in page.content
    upload = SetUpload.objects.get()
    upload.problem = "there is no such branch"
    upload.save()
    page = client.get(f"/sets/{upload.pk}")
    check(page)
    assert b"there is no such branch" in page.content
    assert b"refresh" not in page.content
    assert b"not fetched" in client.get("/sets").content


def test_an_import_into_a_public_competition_warns_that_boards_show_at_once(stage, browser) -> None:
    client = browser(stage.olga)
    client.post(send(client, packed())["Location"] + "/apply")
    client.post("/organise/course/publish")
    more = FILES | {"set.yaml": SET + "  - {directory: c/scale, name: scale2, gpus: [cpu]}\n"}
    shown = client.get(send(client, packed(more))["Location"]).content.decode()
    assert "This competition is public: new boards become visible at once." in shown


def test_hardware_and_deadlines_are_the_organisers_choice(stage, browser) -> None:
    files = FILES | {"set.yaml": SET.replace("gpus: [cpu]", "gpus: [B200], deadline: 2025-01-01")}
    client = browser(stage.olga)
    choice = {"hardware": "cpu, H200", "without_deadlines": "on"}
    sent = client.post("/sets", {"archive": SimpleUploadedFile("c.zip", packed(files)), **choice})
    page = client.get(sent["Location"]).content.decode()
    assert "On cpu, H200 instead of the hardware that the sets name. Without deadlines." in page
    client.post(sent["Location"] + "/apply")
    boards = Board.objects.filter(slug="scale")
    assert [(board.hardware, board.deadline) for board in boards] == [("H200", None), ("cpu", None)]
    refused = client.post("/sets", {"archive": SimpleUploadedFile("c.zip", packed()), "hardware": "a/b"})
    assert refused.status_code == 400
    assert "is not a single word" in refused.content.decode()


def test_a_preview_is_discarded(stage, browser) -> None:
    client = browser(stage.olga)
    address = send(client, packed())["Location"]
    assert f'formaction="{address}/discard"' in client.get(address).content.decode()
    done = client.post(f"{address}/discard", follow=True)
    check(done)
    assert b"course.zip is discarded. Nothing was imported." in done.content
    assert client.get(address).status_code == 404
    applied = send(client, packed())["Location"]
    client.post(f"{applied}/apply")
    assert "/discard" not in client.get(applied).content.decode()
    assert b"Not discarded: it was applied already" in client.post(f"{applied}/discard", follow=True).content


def test_it_is_not_imported_twice(stage, browser) -> None:
    client = browser(stage.olga)
    send(client, packed())
    address = f"/sets/{SetUpload.objects.get().pk}/apply"
    client.post(address)
    again = client.post(address, follow=True)
    assert b"it was applied already" in again.content
    assert Row.objects.filter(act="import_set").count() == 1


def test_what_would_now_do_something_else_is_shown_again(stage, browser) -> None:
    client = browser(stage.olga)
    send(client, packed())
    Competition.objects.create(slug="course", name="Course")  # created by another organiser meanwhile
    upload = SetUpload.objects.get()
    answer = client.post(f"/sets/{upload.pk}/apply", follow=True)
    assert b"the site has changed in the meantime" in answer.content
    assert b"Nothing has changed yet" in answer.content
    assert not Board.objects.filter(slug="scale").exists()
    client.post(f"/sets/{upload.pk}/apply")
    assert Board.objects.filter(slug="scale").exists()


def test_refused_and_unsupported_problems_are_told_with_field_and_reason(stage, browser) -> None:
    text = SET + "  - {directory: c/gone, name: gone}\n  - {directory: c/many, name: many, gpus: [H200]}\n"
    files = FILES | {
        "set.yaml": text,
        "c/many/task.yml": TASK + "multi_gpu: true\nn_gpus: 2\n",
        "c/many/reference.py": REFERENCE,
    }
    client = browser(stage.olga)
    shown = client.get(send(client, packed(files))["Location"])
    page = shown.content.decode()
    check(shown)
    for said in ("].directory", "there is no folder", "several GPUs", "1 created", "1 unsupported", "1 refused"):
        assert said in page


def test_a_board_that_is_not_judged_says_so_on_its_card(stage, browser) -> None:
    files = FILES | {"c/scale/task.yml": TASK + "multi_gpu: true\nn_gpus: 2\n"}
    client = browser(stage.olga)
    client.post(send(client, packed(files))["Location"] + "/apply")
    page = client.get("/boards").content.decode()
    card = page[page.index("/boards/scale") :].split("</article>")[0]
    assert "not judged here" in card
    assert "several GPUs" in card
    assert "first place is free" not in card


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no zip file"),
        (b"no zip", "no zip file"),
        (bytes(5_000_001), "at most 5000000"),
        (packed({"../set.yaml": SET}), "no path inside the archive"),
        (packed({"readme.txt": "x"}), "there is no problem set"),
    ],
    ids=["empty", "text", "large", "escape", "no set"],
)
def test_a_bad_archive_is_refused_beside_its_field(stage, browser, data: bytes, says: str) -> None:
    answer = send(browser(stage.olga), data)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert "course.zip" in answer.content.decode()
    check(answer)
    assert not SetUpload.objects.exists()


def test_no_file_is_named(stage, browser) -> None:
    answer = browser(stage.olga).post("/sets", {})
    assert answer.status_code == 400
    assert b"Choose a zip file" in answer.content


def test_only_organisers_get_there(stage, browser) -> None:
    send(browser(stage.olga), packed())
    pk = SetUpload.objects.get().pk
    assert browser(None).get("/sets").headers["Location"].startswith("/sign-in?next=")
    for client in (browser(stage.ada), browser(stage.cleo)):
        answers = [client.get("/sets"), send(client, packed()), client.get(f"/sets/{pk}")]
        answers.append(client.post(f"/sets/{pk}/apply"))
        assert [answer.status_code for answer in answers] == [404] * 4
    assert b'href="/sets"' not in browser(stage.ada).get("/").content
    assert not Board.objects.filter(slug="scale").exists()
    assert SetUpload.objects.count() == 1


@pytest.mark.django_db
def test_archives_that_nobody_imports_do_not_pile_up(stage) -> None:
    now = timezone.now()
    for n in range(MAX_WAITING + 2):
        take_upload(actor=stage.olga, filename=f"{n}.zip", data=packed(), now=now)
    assert [upload.filename for upload in SetUpload.objects.all()] == ["6.zip", "5.zip", "4.zip", "3.zip", "2.zip"]
    take_upload(actor=stage.olga, filename="next.zip", data=packed(), now=now + timedelta(days=2))
    assert [upload.filename for upload in SetUpload.objects.all()] == ["next.zip"]


def test_nothing_of_an_archive_stays_on_the_disk(stage, browser, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    send(browser(stage.olga), packed())
    send(browser(stage.olga), packed({"a.yaml": "name: {", "../x": ""}))
    assert list(tmp_path.iterdir()) == []


MODEL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(8)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("folder", ["", "KernelBench/", "checkout-1234/KernelBench/"])
def test_kernelbench_is_imported_by_web_and_scored_by_fast_p(stage, browser, folder: str) -> None:
    data = packed({f"{folder}level1/1_Double.py": MODEL, f"{folder}level2/7_Other.py": MODEL})
    client = browser(stage.olga)
    refused = send(client, data)
    assert refused.status_code == 400
    assert "KernelBench names no hardware: fill in the field Hardware" in refused.content.decode()
    sent = client.post("/sets", {"archive": SimpleUploadedFile("kb.zip", data), "hardware": "H200"})
    assert "kb2-007-other" in client.get(sent["Location"]).content.decode()
    done = client.post(sent["Location"] + "/apply", follow=True)
    check(done)
    assert set(Board.objects.filter(slug__startswith="kb").values_list("slug", "hardware")) == {
        ("kb1-001-double", "H200"),
        ("kb2-007-other", "H200"),
    }
    assert Competition.objects.get(slug="kernelbench").scoring == "fast_p"


def test_kernelbench_is_imported_by_web_in_half_precision(stage, browser) -> None:
    client, data = browser(stage.olga), packed({"level1/1_Double.py": MODEL})
    assert '<select name="precision"' in client.get("/sets").content.decode()

    def sent(data: bytes, precision: str):
        file = SimpleUploadedFile("kb.zip", data)
        return client.post("/sets", {"archive": file, "hardware": "cpu", "precision": precision})

    unknown = sent(data, "fp8")
    check(unknown)
    assert unknown.status_code == 400
    assert "“fp8” is unknown; choose one of fp32, fp16, bf16." in unknown.content.decode()
    other = sent(packed(), "bf16")
    assert other.status_code == 400
    assert "for KernelBench files only; choose fp32 for sets in the format of GPU MODE." in other.content.decode()
    address = sent(data, "bf16")["Location"]
    page = client.get(address)
    check(page)
    assert "Variants in bf16." in page.content.decode()
    client.post(f"{address}/apply")
    assert Board.objects.get(slug="kb1-001-double-bf16").competition.name == "KernelBench bf16"


def test_a_reference_that_does_not_parse_is_refused_on_its_line(stage, browser) -> None:
    broken = FILES | {"c/scale/reference.py": "def generate_input(:\n"}
    shown = browser(stage.olga).get(send(browser(stage.olga), packed(broken))["Location"]).content.decode()
    assert "does not parse as Python" in shown
    assert "(line 1)" in shown
    assert ">refused<" in shown


def test_boards_that_fail_their_admission_test_are_listed_after_an_import(stage, browser, capsys) -> None:
    client = browser(stage.olga)
    address = send(client, packed())["Location"]
    client.post(f"{address}/apply")
    assert "1 admission test of this import still waits for a runner" in client.get(address).content.decode()
    test = AdmissionTest.objects.get()
    test.state, test.outcome, test.finished_at = DONE, FAILED, stage.now
    test.message = "The admission test failed: half."
    test.save()
    shown = client.get(address)
    check(shown)
    page = shown.content.decode()
    assert "1 board of this import is closed to submissions" in page
    assert f'<a href="/admission/{test.pk}">scale on cpu</a>' in page
    assert "The admission test failed: half." in page
    call_command("list_closed_boards", "course")
    said = capsys.readouterr().out
    assert f"scale on cpu: failed: The admission test failed: half. (/admission/{test.pk})" in said
    assert "1 failed. Fix each problem and import it again, or override its test" in said
    with pytest.raises(CommandError, match="'nope' is not known; there are course, kernels-101"):
        call_command("list_closed_boards", "nope")
