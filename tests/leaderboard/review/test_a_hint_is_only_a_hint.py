"""A third-party static checker comments on a held source as a limited process; its hints hold no result."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leaderboard.review.models import Finding, Hint
from leaderboard.review.rules.static_check import (
    MOST_WORD_CHARS,
    MOST_WORDS,
    HintError,
    ask_hint,
    run_limited,
    words_of,
)
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import NOON, Stage, cut_connections, environment

ECHO = """
import json, sys
text = sys.stdin.read()
print(json.dumps({"matched_patterns": [{"pattern": "LENGTH", "severity": "high", "evidence": str(len(text))}]}))
"""


def command(*lines: str) -> list[str]:
    return [sys.executable, "-c", "\n".join(lines)]


def test_it_reads_a_source_and_answers_in_json() -> None:
    output = run_limited(command(ECHO), "x" * 100_000)
    assert words_of(output) == ["high: LENGTH: 100000"]


def test_it_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "s3cret")
    output = run_limited(command("import os, json", "print(json.dumps({'hints': sorted(os.environ)}))"), "")
    assert b"SECRET" not in output
    assert "PATH" in words_of(output)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["while True: print('x' * 1000)"], "more than 64,000 bytes"),
        (["raise SystemExit(3)"], "status 3"),
        (["import time", "time.sleep(60)"], "too long"),
        (["import os, time", "os.close(1)", "time.sleep(60)"], "did not end"),
        (["x = bytearray(3 << 30)"], "status 1"),
        (["import tempfile", "f = tempfile.TemporaryFile()", "f.write(b'x')", "f.flush()"], "status 1"),
    ],
)
def test_its_limits_hold(lines: list[str], said: str) -> None:
    """A busy machine may take seconds to start the checker, hence only sleeping checkers get a short limit."""
    began = time.monotonic()
    with pytest.raises(HintError, match=said):
        run_limited(command(*lines), "x", most_s=1.5 if "time" in lines[0] else 20)
    assert time.monotonic() - began < 20


def test_its_children_die_with_it(tmp_path: Path) -> None:
    told = "import os, subprocess, sys, time"
    child = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], stdout=-3)"
    output = run_limited(command(told, child, "print(child.pid, flush=True)", "os._exit(0)"), "", most_s=1.5)
    pid = int(output)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split():
            return
        time.sleep(0.02)
    raise AssertionError("a child lives on")


def test_a_program_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(HintError, match="no program"):
        run_limited(["no-such-checker"], "")


@pytest.mark.parametrize("output", [b"", b"[1]", b"nonsense", b"[" * 60_000, b"\xff\xfe"])
def test_what_is_no_answer_is_refused(output: bytes) -> None:
    with pytest.raises(HintError):
        words_of(output)


def test_words_are_plain_and_bounded() -> None:
    told = {"hints": ["a\x00b\x1b[31m\n" + "x" * 10_000, 7, *["y"] * 100], "matched_patterns": [None, {"pattern": 3}]}
    words = words_of(json.dumps(told).encode())
    assert len(words) == MOST_WORDS
    assert len(words[0]) <= MOST_WORD_CHARS
    assert words[0].isprintable()


def test_its_words_are_kept_with_a_held_submission_and_change_nothing(stage: Stage) -> None:
    held = stage.judge(stage.submit(), ratio=0.3).attempt.submission
    before = status_of(held, now=stage.now)
    hint = ask_hint(submission_id=held.pk, command=command(ECHO), now=NOON)
    assert hint is not None
    assert (hint.words, hint.failure) == ([f"high: LENGTH: {len(held.source)}"], "")
    assert hint.checker.startswith("python")
    assert ask_hint(submission_id=held.pk, command=command("raise SystemExit(1)"), now=NOON) is None, "asked once"
    assert status_of(held, now=stage.now) == before
    assert Finding.objects.count() == 1


def test_a_checker_that_fails_changes_nothing_either(stage: Stage) -> None:
    held = stage.judge(stage.submit(), ratio=0.3).attempt.submission
    ask_hint(submission_id=held.pk, command=command("raise SystemExit(1)"), now=NOON)
    assert Hint.objects.get().failure == "it ended with status 1"
    assert status_of(held, now=stage.now).review == "under_review"


def test_nobody_is_asked_unless_a_setting_says_so(stage: Stage, settings, django_capture_on_commit_callbacks) -> None:
    assert settings.HINT_COMMAND == []
    for asked, chores in (([], 0), (["kernelguard", "--api-mode"], 1)):
        settings.HINT_COMMAND = asked
        with django_capture_on_commit_callbacks() as sent:
            stage.judge(stage.submit(), ratio=0.3)
        with django_capture_on_commit_callbacks() as fine:
            stage.judge(stage.submit(), ratio=0.9)
        assert len(sent) - len(fine) == chores
    held = stage.judge(stage.submit(), ratio=0.3).attempt.submission
    assert ask_hint(submission_id=held.pk, command=[], now=NOON) is None


def test_site_worker_asks_for_hints_though_its_database_connection_died(
    live_stage: Stage, settings, tmp_path: Path
) -> None:
    (tmp_path / "echo.py").write_text(ECHO)
    settings.HINT_COMMAND = [sys.executable, str(tmp_path / "echo.py")]
    dramatiq = [sys.executable, "-m", "dramatiq", "leaderboard.actors", "--processes", "1", "--threads", "1"]
    told = environment() | {"HINT_COMMAND": " ".join(settings.HINT_COMMAND)}
    worker = subprocess.Popen([*dramatiq, "--queues", "site"], env=told, start_new_session=True)
    try:
        for count in (1, 2):
            held = live_stage.judge(live_stage.submit(), ratio=0.3).attempt.submission
            deadline = time.monotonic() + 90
            while Hint.objects.count() < count and time.monotonic() < deadline:
                time.sleep(0.05)
            assert Hint.objects.get(submission=held).failure == ""
            cut_connections()
    finally:
        os.killpg(worker.pid, signal.SIGTERM)
        worker.wait(20)


def test_a_script_on_the_disk_works_as_well(tmp_path: Path) -> None:
    script = tmp_path / "checker"
    script.write_text(f"#!{sys.executable}\n{ECHO}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    assert os.access(script, os.X_OK)
    assert words_of(run_limited([str(script)], "abc")) == ["high: LENGTH: 3"]


def test_run_limited_sets_its_limits_before_the_checker_starts() -> None:
    told = "print(resource.getrlimit(resource.RLIMIT_NOFILE)[1], resource.getrlimit(resource.RLIMIT_FSIZE)[1])"
    assert run_limited(command("import resource", told), "").split() == [b"64", b"0"]


def test_run_limited_gives_the_checker_no_network() -> None:
    output = run_limited(command("import socket", "print([name for _, name in socket.if_nameindex()])"), "")
    assert output.strip() == b"['lo']"
