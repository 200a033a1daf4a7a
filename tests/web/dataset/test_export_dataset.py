"""A data set has public code with a licence alone, a problem in one split, and loads from its folder."""

import io
import json
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.utils import timezone
from pyarrow.parquet import read_table

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import choose_data_sets
from leaderboard.competitions.checks import ALL_RIGHTS_RESERVED
from leaderboard.competitions.models import Competition
from leaderboard.entrants.enter import create_agent
from leaderboard.judging.models import Epoch
from leaderboard.pipeline import reject_result
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.permissions import release_code
from tests.leaderboard.stage import make_board, make_problem

CASES = (
    {"stage": "time", "name": "rows=512", "public": True, "good": True, "measured_us": 500.0, "baseline_us": 1000.0,
     "ratio": 0.5, "half_width": 0.01},
)  # fmt: skip
FAILED = ({"stage": "check", "name": "secret 1", "public": False, "good": False, "reason": "nan", "message": "NaN"},)


def source(word: str) -> str:
    """Return a kernel that is like no other word's."""
    lines = [f"    data = torch.{word}{place}(data, {place}) + torch.{word}(data)" for place in range(12)]
    return "\n".join(["import torch", "def custom_kernel(data):", *lines, "    return data", ""])


@pytest.fixture
def raced(stage):
    """Return the stage three hours before the end of its contest."""
    stage.now = timezone.now() - timedelta(hours=6)
    Competition.objects.update(contest_at=stage.now, deadline=timezone.now() - timedelta(hours=1))
    return stage


def send(stage, owner, word, *, board=None, licence="", mode="ranked", **verdict):
    board = board or stage.board
    lineage = {"model": "m"} if owner.agent_of_id else {}
    upload = Upload(board.slug, board.hardware, mode, "kernel.py", source(word).encode(), licence, lineage=lineage)
    submission = pipeline.submit(upload, owner=owner, now=stage.later(1))
    return submission, stage.judge(submission, **verdict)


def export(folder: Path) -> dict[str, list[dict[str, object]]]:
    """Return the rows of each file of Parquet of a new export."""
    call_command("export_dataset", str(folder), stdout=io.StringIO())
    found = {}
    for path in sorted(folder.glob("*/*.parquet")):
        found[f"{path.parent.name}/{path.stem}"] = read_table(path).to_pylist()
    return found


def test_kernels_have_verdict_times_licence_and_problem(raced, tmp_path) -> None:
    submission, _ = send(raced, raced.ada, "tanh", ratio=0.5, half_width=0.01, epoch="e1", cases=CASES)
    [row] = export(tmp_path)["kernels/train"]
    assert (
        row.items()
        >= {
            "schema": "kernels/2",
            "source": "submissions",
            "submission": submission.pk,
            "problem": "softmax",
            "problem_digest": raced.board.version.digest,
            "title": "Row softmax",
            "hardware": "cpu",
            "code": source("tanh"),
            "licence": "MIT",
            "author": "ada",
            "outcome": "passed",
            "epoch": "e1",
            "speedup": 2.0,
            "half_width": 0.01,
        }.items()
    )
    assert row["reference"].startswith("def ref_kernel")
    assert json.loads(row["cases"])[0]["baseline_us"] == 1000.0
    assert row["submitted_at"] == submission.created_at
    [line] = (tmp_path / "jsonl/kernels/train.jsonl").read_text().splitlines()
    assert json.loads(line)["code"] == row["code"]


def test_rows_have_lineage_of_public_parents_and_the_machine(raced, tmp_path) -> None:
    parent, _ = send(raced, raced.ada, "tanh")
    hidden, _ = send(raced, raced.ada, "gelu", mode="test")
    told = {
        "model": "m1",
        "prompt_sha256": "a" * 64,
        "sampling": {"temperature": 0.5},
    }
    upload = Upload(
        "softmax", "cpu", "ranked", "kernel.py", source("relu").encode(), "", parent.pk, (parent.pk, hidden.pk), told
    )
    child = pipeline.submit(upload, owner=raced.ada, now=raced.later(1))
    raced.judge(child, epoch="e1")
    Epoch.objects.filter(name="e1").update(fingerprint={"cpu": "A CPU", "boot_id": "private"})
    by_number = {row["submission"]: row for row in export(tmp_path)["kernels/train"]}
    row = by_number[child.pk]
    assert (row["model"], row["prompt_sha256"]) == ("m1", "a" * 64)
    assert json.loads(row["sampling"]) == {"temperature": 0.5}
    assert (row["remixed_from"], json.loads(row["parents"])) == (parent.pk, [parent.pk])
    assert json.loads(row["machine"]) == {"cpu": "A CPU"}
    assert (by_number[parent.pk]["model"], by_number[parent.pk]["remixed_from"]) == (None, None)


def test_only_public_code_with_a_licence_is_exported(raced, tmp_path) -> None:
    send(raced, raced.ada, "tanh", licence=ALL_RIGHTS_RESERVED)
    send(raced, raced.ben, "relu", licence="CC0-1.0")
    open_board = make_board("topk", competition=Competition.objects.create(slug="open", name="Open"))
    private, _ = send(raced, raced.cleo, "gelu", board=open_board)
    [row] = export(tmp_path / "first")["kernels/train"]
    assert (row["author"], row["licence"]) == ("ben", "CC0-1.0")

    release_code(submission=private, actor=raced.cleo, now=raced.later(1))
    assert len(export(tmp_path / "second")["kernels/train"]) == 2, "its owner has published the code"
    Competition.objects.filter(slug="open").update(visibility="unlisted")
    assert len(export(tmp_path / "third")["kernels/train"]) == 1


def test_people_leave_data_sets_with_their_teams(raced, tmp_path) -> None:
    send(raced, raced.ada, "tanh")
    send(raced, raced.ben, "relu")
    choose_data_sets(user=raced.ada, choice="none", now=raced.now)
    [row] = export(tmp_path)["kernels/train"]
    assert row["author"] == "ben"


def test_agents_leave_data_sets_with_their_owners_and_share_no_more_than_they(raced, tmp_path) -> None:
    agent = create_agent(owner=raced.ada, name="robo", now=raced.now)
    send(raced, agent, "tanh")
    send(raced, agent, "gelu", outcome="wrong", reason="nan", cases=FAILED)
    choose_data_sets(user=agent, choice="all", now=raced.now)
    assert set(export(tmp_path / "first")) == {"kernels/train"}
    choose_data_sets(user=raced.ada, choice="all", now=raced.now)
    assert set(export(tmp_path / "second")) == {"kernels/train", "rejected/train"}
    User.objects.filter(pk=raced.ada.pk).update(linked_to=raced.ben)
    choose_data_sets(user=raced.ben, choice="none", now=raced.now)
    assert export(tmp_path / "third") == {}


def test_duplicates_are_left_out_and_the_fastest_stays(raced, tmp_path) -> None:
    send(raced, raced.ada, "tanh", ratio=0.9)
    fastest, _ = send(raced, raced.ben, "tanh", ratio=0.8)
    changed = source("tanh").replace("torch.tanh3(data, 3)", "torch.tanh3(data, 4)")
    near = pipeline.submit(
        Upload("softmax", "cpu", "ranked", "kernel.py", changed.encode()), owner=raced.cleo, now=raced.later(1)
    )
    raced.judge(near, ratio=0.85)
    printed = io.StringIO()
    call_command("export_dataset", str(tmp_path), stdout=printed)
    assert "kernels: 1 rows; left out: 1 exact duplicates, 1 near duplicates" in printed.getvalue()
    [row] = read_table(tmp_path / "kernels/train.parquet").to_pylist()
    assert row["submission"] == fastest.pk


def test_kernels_without_a_pass_need_the_wish_of_their_owner_and_the_end_of_the_contest(raced, tmp_path) -> None:
    wrong, _ = send(raced, raced.ada, "tanh", outcome="wrong", reason="nan", message="NaN at 0", cases=FAILED)
    send(raced, raced.ben, "relu", outcome="wrong", reason="nan")
    assert export(tmp_path / "first") == {}
    choose_data_sets(user=raced.ada, choice="all", now=raced.now)
    [row] = export(tmp_path / "second")["rejected/train"]
    assert (row["submission"], row["kind"], row["reason"], row["message"]) == (wrong.pk, "failed", "nan", "NaN at 0")
    assert json.loads(row["failed_cases"]) == [{"name": "secret 1", "reason": "nan", "message": "NaN"}]
    Competition.objects.update(deadline=timezone.now() + timedelta(hours=1))
    assert export(tmp_path / "third") == {}


def test_rejected_kernels_have_public_reasons_and_held_ones_stay_out(raced, tmp_path) -> None:
    choose_data_sets(user=raced.ada, choice="all", now=raced.now)
    rejected, result = send(raced, raced.ada, "tanh", ratio=0.3)
    send(raced, raced.ada, "relu", ratio=0.31)
    told = {"code": "other", "reason": "For its owner.", "public_reason": "It skips work."}
    reject_result(result=result, actor=raced.olga, now=raced.later(1), **told)
    [row] = export(tmp_path)["rejected/train"]
    assert (row["submission"], row["kind"], row["message"]) == (rejected.pk, "cheating", "It skips work.")
    assert "faster_than_best" in json.loads(row["rules"])


def test_a_problem_is_in_one_split_even_under_two_names(raced, tmp_path, monkeypatch) -> None:
    def problem(slug: str) -> object:
        word = {"again": "problem7"}.get(slug, slug.replace("-", ""))  # a copy of problem-7
        return make_problem(slug, files={"reference.py": f"def ref_kernel(data):\n    return data.{word}()\n"})

    monkeypatch.setattr("tests.leaderboard.stage.make_problem", problem)
    for place, name in enumerate(("problem-7", "problem-14", "again")):
        board = make_board(name)
        for person in (raced.ada, raced.ben):
            send(raced, person, f"w{place}{person}", board=board)
    found = {name: {row["problem"] for row in rows} for name, rows in export(tmp_path).items()}
    assert found["kernels/test"] == {"problem-14"}
    [both] = [names for names in found.values() if "again" in names]
    assert both == {"again", "problem-7"}


def test_the_card_names_files_licences_and_columns(raced, tmp_path) -> None:
    send(raced, raced.ada, "tanh", licence="Apache-2.0")
    export(tmp_path)
    _, head, text = (tmp_path / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(head) == {
        "pretty_name": "Verified kernels",
        "license": ["apache-2.0"],
        "tags": ["code", "gpu", "kernels", "performance"],
        "task_categories": ["text-generation"],
        "size_categories": ["n<1K"],
        "configs": [
            {
                "config_name": "kernels",
                "data_files": [{"split": "train", "path": "kernels/train.parquet"}],
                "default": True,
            }
        ],
    }
    assert "| `kernels` | 1 | 0 | 0 | 0 |" in text
    assert "| `speedup` | real | baseline / kernel" in text


def test_the_export_needs_an_empty_folder(stage, tmp_path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(CommandError, match="not empty; name a new one"):
        call_command("export_dataset", str(tmp_path))


@pytest.mark.skipif(
    find_spec("datasets") is None,
    reason="the library datasets is not installed: its huggingface-hub is not that of the image's layer",
)
def test_load_dataset_reads_the_folder(raced, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import load_dataset

    choose_data_sets(user=raced.ada, choice="all", now=raced.now)
    send(raced, raced.ada, "tanh", ratio=0.5)
    send(raced, raced.ada, "relu", outcome="wrong", reason="nan")
    export(tmp_path / "data")
    loaded = load_dataset(str(tmp_path / "data"), "kernels")
    assert list(loaded) == ["train"]
    assert loaded["train"][0]["speedup"] == 2.0
    assert load_dataset(str(tmp_path / "data"), "rejected", split="train")[0]["reason"] == "nan"


def test_an_account_chooses_on_its_page_and_over_the_api(stage, browser, tool) -> None:
    client, page = tool(stage.ada), browser(stage.ada)
    assert client.get("/api/v1/me/data-sets").json() == {"choice": "public"}
    answer = client.post("/api/v1/me/data-sets", {"choice": "all"}, content_type="application/json")
    assert answer.json() == {"choice": "all"}
    assert page.post("/account/data-sets", {"choice": "none"}).status_code == 302
    assert client.get("/api/v1/me/data-sets").json() == {"choice": "none"}
    assert '<option value="none" selected>' in page.get("/account").content.decode()
    wrong = page.post("/account/data-sets", {"choice": "some"})
    assert (wrong.status_code, b"choose one of none, public, all" in wrong.content) == (400, True)
    refused = client.post("/api/v1/me/data-sets", {"choice": "some"}, content_type="application/json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "choice")
    assert tool(stage.ben).get("/api/v1/me/data-sets").json() == {"choice": "public"}
