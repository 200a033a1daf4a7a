"""`photofinish match` as a process of its own, on a running site, against a scripted model; a thread judges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.chat_server import chat_server
from tests.leaderboard.matches.test_matches import WHY
from tests.web.live_site import live_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.leaderboard.stage import Stage

pytestmark = pytest.mark.slow

FAST = "def custom_kernel(data):\n    return data  # turn {}\n"


@pytest.fixture
def judged(transactional_db: None, stage: Stage) -> Iterator[Stage]:
    """Judge whatever is sent: a kernel with the word wrong is wrong, each other one a little faster than the last."""
    from django.db import connection
    from django.utils import timezone

    from leaderboard import pipeline
    from leaderboard.judging.models import Runner
    from tests.leaderboard.stage import passing

    ended, ratio = threading.Event(), 0.8

    def judge() -> None:
        nonlocal ratio
        while not ended.wait(0.05):
            runner = Runner.objects.get(pk=stage.rex.pk)
            job = pipeline.claim_work(runner=runner, now=timezone.now())
            if job is None:
                continue
            if "wrong" in job.source:
                told: dict[str, Any] = {"outcome": "wrong", "reason": "mismatch", "message": "3 elements differ."}
            else:
                ratio, told = ratio * 0.97, {"ratio": ratio}
            pipeline.take_report(runner=runner, report=passing(job, **told), now=timezone.now())
        connection.close()

    thread = threading.Thread(target=judge)
    thread.start()
    yield stage
    ended.set()
    thread.join(20)


def script(prompt: str, number: int) -> str:
    return f"Answer {number}.\n```python\n{FAST.format('wrong' if number == 1 else number)}```\n"


def test_match_is_played_by_command(judged: Stage, tmp_path: Path) -> None:
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token
    from leaderboard.matches.models import HandIn, Version

    _, token = issue_token(owner=judged.ada, name="cli", scopes=("read", "submit"), now=timezone.now())
    for name, text in {
        "kernel.py": FAST.format("by hand"),
        "prompt.txt": "Write it.",
        "answer.md": script("", 9),
    }.items():
        (tmp_path / name).write_text(text)

    def photofinish(*arguments: str, code: int = 0) -> Any:
        told = os.environ | {"PHOTOFINISH_URL": site.address, "PHOTOFINISH_TOKEN": token, "HOME": str(tmp_path)}
        command = [sys.executable, "-m", "leaderboard.cli.start", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=told, cwd=tmp_path, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr

    with live_site() as site, chat_server(script) as chat:
        match = str(photofinish("match", "open", "softmax", "--model", "acme/coder-7b", "--json")["id"])
        assert "predict first" in photofinish("match", "send", match, "kernel.py", code=4)
        predicted = ("--bound", "memory", "--expect", "2", "--why", WHY)
        assert "predicted memory, 2.000×" in photofinish("match", "predict", match, *predicted)
        first = photofinish("match", "send", match, "kernel.py")
        assert "version 1, submission" in first
        assert "faster, 1.250×" in first
        assert "reason" in photofinish("match", "send", match, "kernel.py", code=2)
        more = ("--reason", "wider loads", "--expect", "1.4", "--json")
        second = photofinish("match", "send", match, "kernel.py", *more)
        assert (second["number"], second["expected"], second["faster"]) == (2, 1.4, True)
        model = ("--proposer", chat.url, "--model", "any")
        played = photofinish("match", "play", match, *model, "--turns", "2")
        assert "turn 1: submission" in played
        assert "wrong (mismatch)" in played
        assert "3 elements differ." in chat.prompts[1], "the judge's feedback is in the second prompt"
        assert "turn 3: submission" in photofinish("match", "play", match, *model)
        pasted = ("--prompt", "prompt.txt", "--answer", "answer.md", "--turn", "4", "--json")
        assert photofinish("match", "paste", match, *pasted)["answer"] == script("", 9)
        searched = ("--rounds", "1", "--candidates", "2", "--per-round", "2", "--strategy", "samples", "--match", match)
        photofinish("search", "softmax", *model, *searched)
        shown = photofinish("match", "show", match)
        assert "predicted: memory, 2.000×" in shown
        assert "wider loads" in shown
        assert match in photofinish("match", "list")
        photofinish("match", "worklog", "pull", match)
        (tmp_path / f"worklog-{match}" / "plan.md").write_text("Rows fit into **registers**.\n")
        assert "saved as revision 1" in photofinish("match", "worklog", "push", match, "plan")
        assert "revision" in photofinish("match", "worklog", "push", match, "plan", "--revision", "7", code=0)
        (tmp_path / f"worklog-{match}" / "plan.md").write_text("Another text.\n")
        refused = photofinish("match", "worklog", "push", match, "plan", "--revision", "7", code=4)
        assert "saved revision 1 meanwhile" in refused
        assert "still empty" in photofinish("match", "worklog", "hand-in", match)
        handed = photofinish("match", "worklog", "export", match, "--json", "--hand-in", str(HandIn.objects.get().pk))
        assert handed["texts"]["plan"] == "Rows fit into **registers**."
        assert "Rows fit into **registers**." in photofinish("match", "worklog", "export", match)
        assert "public" in photofinish("match", "publish", match)
        assert photofinish("match", "list", "--public", "--json")[0]["model"] == "acme/coder-7b"
        assert "closed" in photofinish("match", "close", match)
    machine = list(Version.objects.filter(side="machine").select_related("submission__lineage"))
    assert {one.submission.lineage.model for one in machine} == {"acme/coder-7b"}
    assert [one.turn for one in machine[:4]] == [1, 2, 3, 4]
    assert len(machine) == 6
    assert all(one.prompt and "```" in one.answer for one in machine)
    assert machine[0].prompt.startswith("You write fast kernels.")
