"""Problems over /api/v1: drafts checked and saved; sets uploaded or fetched, and imported; admission overridden."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions.models import FAILED, AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.competitions.importing import fetch_waiting, take_upload
from leaderboard.competitions.models import Board, Competition, SetUpload
from leaderboard.errors import UserError
from leaderboard.web.organise.authoring_pages import example
from problems.formats import git
from problems.spec import Problem
from tests.problems.git_server import GitServer
from tests.web.api.acting import field_of, send
from tests.web.organise.test_set_pages import FILES, MODEL, SET, packed

AT = "organise/kernels-101"


def test_a_draft_is_checked_created_and_revised(stage, owner) -> None:
    draft = asdict(example()) | {"title": "My SiLU"}
    checked = send(owner, f"{AT}/drafts", **draft, slug="my-silu").json()
    assert checked["digest"].startswith("sha256:")
    assert not Board.objects.filter(slug="my-silu").exists()
    made = send(owner, f"{AT}/problems", **draft, slug="my-silu")
    assert (made.status_code, made.json()[0]["digest"]) == (201, checked["digest"])
    assert AdmissionTest.objects.filter(version__digest=checked["digest"]).exists()
    assert field_of(send(owner, f"{AT}/problems", **draft, slug="my-silu")) == (409, "slug")
    shown = owner.get(f"/api/v1/{AT}/problems/my-silu").json()
    assert {one["kind"] for one in shown["files"]} == {"task", "starter", "baseline"}
    revised = send(owner, f"{AT}/problems/my-silu", **shown | {"description": "Another text."}).json()
    assert revised[0]["digest"] != checked["digest"]
    assert Board.objects.get(slug="my-silu").version.part("description") == "Another text."


def test_a_faulty_draft_names_the_field(stage, owner) -> None:
    draft = asdict(example()) | {"slug": "my-silu"}
    assert field_of(send(owner, f"{AT}/drafts", **draft | {"title": "x", "settings": "gpus: ["})) == (400, "settings")
    assert field_of(send(owner, f"{AT}/drafts", **draft)) == (400, "title")
    assert field_of(send(owner, f"{AT}/problems/nothing", **draft | {"title": "x"})) == (404, "slug")


def upload(client, data: bytes, **sent):
    return client.post("/api/v1/sets", {"archive": SimpleUploadedFile("course.zip", data), **sent})


def test_a_set_is_previewed_and_imported_exactly_as_shown(stage, tool) -> None:
    client = tool(stage.olga, "review")
    shown = upload(client, packed(), hardware=["cpu", "H200"], without_deadlines="true")
    assert shown.status_code == 201
    (course,) = shown.json()["sets"]
    assert (course["name"], course["problems"][0]["hardware"]) == ("Course", ["cpu", "H200"])
    assert shown.json()["applied_at"] is None
    assert not Competition.objects.filter(slug="course").exists()
    at = f"sets/{shown.json()['id']}"
    done = send(client, f"{at}/apply")
    assert (done.status_code, done.json()["applied_at"] is None) == (200, False)
    assert Board.objects.filter(slug="scale").count() == 2
    assert field_of(send(client, f"{at}/apply")) == (409, "upload")
    assert [one["filename"] for one in client.get("/api/v1/sets").json()] == ["course.zip"]
    assert client.get(f"/api/v1/{at}").json() == done.json()


def test_kernelbench_in_half_precision_is_imported_and_reaches_the_task_of_a_runner(stage, tool) -> None:
    client, data = tool(stage.olga, "review"), packed({"level1/1_Double.py": MODEL})
    shown = upload(client, data, hardware=["cpu"], precision="bf16")
    assert (shown.status_code, shown.json()["precision"]) == (201, "bf16")
    assert send(client, f"sets/{shown.json()['id']}/apply").status_code == 200
    board = Board.objects.get(slug="kb1-001-double-bf16")
    job = pipeline.claim_work(runner=stage.rex, now=timezone.now())
    assert job is not None
    assert (job.task, job.problem_digest) == ("admission", board.version.digest)
    problem = Problem.from_bundle(board.version.bundle)
    assert problem.digest == job.problem_digest
    assert (problem.tags, problem.precision.legal) == (("kernelbench", "bf16"), ("fp32", "tf32", "fp16", "bf16"))
    assert "value.to(torch.bfloat16) if value.is_floating_point()" in problem.files["reference.py"]


def test_a_precision_that_does_not_suit_the_set_names_the_field(stage, tool, settings) -> None:
    client, settings.PROBLEM_GIT_HOSTS = tool(stage.olga, "review"), ["git.example.org/team"]
    fetch = {"address": "https://git.example.org/team/sets", "precision": "fp8"}
    for refused in (upload(client, packed(), precision="fp8"), send(client, "sets/git", **fetch)):
        assert field_of(refused) == (400, "precision")
        assert refused.json()["errors"][0]["value"] == "fp8"
        assert refused.json()["detail"] == "precision: is unknown; choose one of fp32, fp16, bf16"
    other = upload(client, packed(), precision="fp16")
    assert field_of(other) == (400, "precision")
    assert "KernelBench files only; choose fp32" in other.json()["detail"]
    with pytest.raises(UserError, match="choose one of fp32, fp16, bf16"):
        take_upload(actor=stage.olga, filename="kb.zip", data=packed(), now=stage.now, precision="fp8")


def test_a_preview_that_no_longer_holds_imports_nothing(stage, tool) -> None:
    client = tool(stage.olga, "review")
    first, second = (upload(client, packed()).json()["id"] for _ in range(2))
    send(client, f"sets/{first}/apply")
    changed = send(client, f"sets/{second}/apply")
    assert field_of(changed) == (409, "upload")
    assert "new preview" in changed.json()["detail"]
    again = client.get(f"/api/v1/sets/{second}").json()
    assert (again["applied_at"], again["sets"][0]["status"]) == (None, "unchanged")


def test_archives_that_cannot_be_read_name_the_field(stage, tool) -> None:
    client = tool(stage.olga, "review")
    assert field_of(upload(client, b"x")) == (400, "archive")
    assert field_of(upload(client, packed({"a.txt": "x"}))) == (400, "archive")
    assert field_of(upload(client, packed(), hardware="a/b")) == (400, "hardware")
    assert field_of(client.post("/api/v1/sets", {})) == (400, "archive")
    assert upload(client, packed(FILES | {"set.yaml": SET.replace("Course", "~~")})).status_code == 201
    assert send(client, "sets", archive="x").status_code == 415


def test_a_set_is_fetched_from_git_previewed_and_imported(stage, tool, monkeypatch, settings) -> None:
    client = tool(stage.olga, "review")
    with GitServer() as server:
        commit = server.commit({f"problems/{name}": text for name, text in FILES.items()})
        monkeypatch.setattr(git, "CONFIG", (*git.CONFIG, f"http.sslCAInfo={server.certificate}"))
        settings.PROBLEM_GIT_HOSTS = [server.host]
        asked = send(client, "sets/git", address=server.address(), folder="problems", hardware=["H200"])
        assert (asked.status_code, asked.json()["waiting"], asked.json()["sets"]) == (201, True, [])
        at = f"sets/{asked.json()['id']}"
        assert field_of(send(client, f"{at}/apply")) == (409, "upload")
        assert fetch_waiting(now=stage.later(1))
    shown = client.get(f"/api/v1/{at}").json()
    assert (shown["waiting"], shown["fault"]) == (False, "")
    assert shown["origin"] == f"{server.address()}@{commit}:problems"
    assert (shown["hardware"], shown["sets"][0]["problems"][0]["hardware"]) == (["H200"], ["H200"])
    assert not Board.objects.filter(slug="scale").exists()
    assert send(client, f"{at}/apply").status_code == 200
    assert Board.objects.get(slug="scale").version.origin == shown["origin"]


def test_a_fetch_that_is_not_allowed_names_the_field(stage, tool, settings) -> None:
    client, address = tool(stage.olga, "review"), "https://git.example.org/team/sets"
    refused = send(client, "sets/git", address=address)
    assert field_of(refused) == (400, "address")
    assert "allows no host" in refused.json()["detail"]
    settings.PROBLEM_GIT_HOSTS = ["git.example.org/team"]
    for field, value in (
        *(("address", "https://git.example.org/other"), ("address", "git@git.example.org:team/sets")),
        *(("ref", "a..b"), ("folder", "../up"), ("hardware", ["a/b"])),
    ):
        assert field_of(send(client, "sets/git", **{"address": address} | {field: value})) == (400, field)
    assert not SetUpload.objects.exists()


def test_an_upload_is_discarded_once_and_only_before_its_import(stage, tool) -> None:
    client = tool(stage.olga, "review")
    at = f"sets/{upload(client, packed()).json()['id']}"
    assert send(client, f"{at}/discard").status_code == 204
    assert [send(client, f"{at}/{act}").status_code for act in ("discard", "apply")] == [404, 404]
    assert Row.objects.get(act="discard_set").actor == stage.olga
    at = f"sets/{upload(client, packed()).json()['id']}"
    send(client, f"{at}/apply")
    assert field_of(send(client, f"{at}/discard")) == (409, "upload")
    assert client.get(f"/api/v1/{at}").json()["applied_at"]


def test_sets_are_for_administrators(stage, owner) -> None:
    assert upload(owner, packed()).status_code == 403
    assert send(owner, "sets/git", address="https://git.example.org/x").status_code == 403
    assert owner.get("/api/v1/sets").status_code == 403
    assert not SetUpload.objects.exists()


def test_a_failed_admission_test_is_overridden_with_a_reason(stage, owner) -> None:
    json = {"board": "softmax", "hardware": "cpu"}
    asked = send(owner, "admission", **json)
    assert asked.status_code == 403, "another scope"
    test = AdmissionTest.objects.create(
        version=stage.board.version,
        hardware="cpu",
        state="done",
        outcome=FAILED,
        created_at=stage.now,
        finished_at=stage.now,
    )
    at = f"admission/{test.pk}/override"
    assert field_of(send(owner, at)) == (400, "reason")
    done = send(owner, at, reason="The margin is known.").json()
    assert (done["overridden"], done["override_reason"]) == (True, "The margin is known.")
    assert send(owner, at, reason="again").status_code == 409
