"""`photofinish submit`: from a file to a verdict and an exit code that a script can trust."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard.client import clients
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, STEPS, TOKEN, WRONG, FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")


def test_pass_shows_time_speed_and_rank(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    ended = photofinish("submit", str(kernel), "--board", "softmax", "--hardware", "cpu", "--mode", "ranked")
    assert ended.code == 0
    assert ended.out.splitlines()[0] == "Passed"
    assert "time         1.234 ms" in ended.out
    assert "speedup      2.000× as fast as the baseline, 95 % interval ±0.4 %" in ended.out
    assert "rank         2" in ended.out
    assert site.sent == [
        {
            "board": "softmax",
            "hardware": "cpu",
            "mode": "ranked",
            "filename": "kernel.py",
            "code": kernel.read_text(),
        }
    ]


def test_a_licence_is_sent_along_and_one_in_the_file_is_left_to_the_site(
    site: FakeSite, photofinish: Photofinish, kernel: Path
) -> None:
    kernel.write_text("#!PHOTOFINISH licence CC0-1.0\n" + kernel.read_text())
    for given in ((), ("--licence", "MIT")):
        assert photofinish("submit", str(kernel), "--board", "softmax", "--hardware", "cpu", *given).code == 0
    assert [sent.get("licence") for sent in site.sent] == [None, "MIT"]


def test_pass_says_what_ranks_and_how_far_it_can_be_trusted(site: FakeSite, photofinish: Photofinish) -> None:
    value = {"ratio": 0.4, "submissions": [5, 6, 7], "tied": True}
    site.verdict = {**PASSED, "forgeable": 0.0123, "value": value}
    told = photofinish("show", "7").out
    assert "tolerance    the judge's clock confirms all but at most 1.3 % of the time" in told
    assert (
        "rank         2, tied within the noise, by the mean of 3 runs of this kernel: 2.500× as fast as the baseline"
        in told
    )


def test_pass_explains_a_speedup_below_the_quotient_of_its_times(site: FakeSite, photofinish: Photofinish) -> None:
    times = {"good": True, "measured_us": 8.0, "baseline_us": 8.0}
    timed = [{**times, "name": f"size={size}", "ratio": 1.25} for size in range(7)]
    site.verdict = {**PASSED, "cases": [{**times, "name": "calm", "ratio": 1.0}, *timed]}
    said = "size=0: cautious for noise; the two times alone give 1.000×"
    for command in ("show", "watch"):
        told = photofinish(command, "7").out
        assert said in told
        assert "calm: cautious" not in told
        assert "and 2 further cases" in told


def test_pass_that_cannot_rank_says_why(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**PASSED, "rank": None, "published": False, "unranked": "no_telemetry"}
    ended = photofinish("show", "7")
    assert ended.code == 0
    assert "board        not ranked: The machine that timed this could not watch" in ended.out


def test_cancel(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**PASSED, "status": "queued", "outcome": ""}
    assert photofinish("cancel", "7").out == "submission 7: Cancelled\n"
    unknown = photofinish("cancel", "8")
    assert (unknown.code, unknown.err) == (
        2,
        "error: ID: there is no submission 8, or it is not yours; see `photofinish list`\n",
    )


def test_cancel_of_what_is_finished_says_so(photofinish: Photofinish) -> None:
    ended = photofinish("cancel", "7")
    assert (ended.code, ended.out, ended.err) == (4, "", "error: submission: already done\n")


def test_progress_is_shown_as_it_comes(photofinish: Photofinish, kernel: Path) -> None:
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert [row for row in ended.err.splitlines() if row.startswith("·")] == ["· building", "· checking", "· timing"]


def test_place_in_the_queue_is_shown_while_it_waits(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    place = {"position": 3, "queued": 7, "text": "3rd of 7 in the queue for cpu, starts in about 40 seconds."}
    site.steps = [("state", {"state": "queued"}), ("queue", place), ("queue", place | {"position": 2}), *STEPS]
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    rows = ended.err.splitlines()
    assert rows[rows.index("· queued") :][:3] == ["· queued", place["text"], "· building"]


def test_failure_says_case_expected_and_got(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.verdict = WRONG
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert ended.code == 1
    assert ended.out.splitlines()[0] == "Wrong result (mismatch)"
    assert "case cols=4096 rows=512: expected 0.25 at [3, 7], got 0.5" in ended.out
    assert "case secret 2: NaN at [0, 0]" in ended.out


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"review": "under_review", "rank": None, "published": False}, 5, "held"),
        ({"review": "rejected", "rank": None, "published": False}, 1, "Passed, rejected"),
        ({"mode": "test", "score_us": None, "ratio": None, "rank": None}, 0, "--mode test"),
        ({"outcome": "timeout", "message": "case 3 ran over 10 s"}, 1, "Out of time"),
        ({"outcome": "build_error", "logs": {"stderr": "SyntaxError: line 3"}}, 1, "SyntaxError: line 3"),
        ({"outcome": "infra_error", "message": "a host failed"}, 3, "Our fault"),
        ({"status": "cancelled", "outcome": None}, 1, "Cancelled"),
        ({"outcome": "never_heard_of"}, 1, "Never heard of"),
    ],
)
def test_every_verdict_has_its_words_and_its_exit_code(
    site: FakeSite, photofinish: Photofinish, kernel: Path, changes: dict[str, object], code: int, said: str
) -> None:
    site.verdict = {**PASSED, **changes}
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert ended.code == code
    assert said in ended.out


def test_json_is_all_there_is_on_stdout(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    ended = photofinish("submit", str(kernel), "--board", "softmax", "--json")
    assert json.loads(ended.out) == PASSED
    assert "building" not in ended.err


def test_no_wait_gives_the_id_and_goes(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    ended = photofinish("submit", str(kernel), "--board", "softmax", "--no-wait")
    assert (ended.code, ended.out) == (0, "7\n")
    assert site.resumed_after == []


def test_broken_stream_is_taken_up_after_the_last_event(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.break_stream_after = 1
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert ended.code == 0
    assert site.resumed_after == ["", *(str(number) for number in range(1, len(STEPS) + 1))]
    assert ended.err.count("· building") == 1


def test_site_without_streams_is_asked_again(
    site: FakeSite, photofinish: Photofinish, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "backoff_s", lambda failures: 0.0)
    site.no_stream = 503
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert ended.code == 0
    assert "· timing" in ended.err


def test_ctrl_c_says_that_the_submission_goes_on(site: FakeSite, kernel: Path) -> None:
    site.hang = True
    process = subprocess.Popen(
        [sys.executable, "-m", "leaderboard.cli.start", "submit", str(kernel), "--board", "softmax"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background inherits "ignore"
    )
    assert process.stderr is not None
    while "building" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "photofinish show 7" in err
    assert "Traceback" not in err


def test_directives_are_left_to_the_site(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    kernel.write_text(f"#!PHOTOFINISH gpu H200\n#!PHOTOFINISH board softmax\n{kernel.read_text()}")
    ended = photofinish("submit", str(kernel))
    assert ended.code == 0
    assert (site.sent[0]["board"], site.sent[0]["hardware"]) == ("", "")
    assert "#!PHOTOFINISH gpu H200" in site.sent[0]["code"]
    assert "submission 7 to softmax on cpu, mode test" in ended.err


def test_options_are_sent_beside_directives(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    kernel.write_text("#!PHOTOFINISH leaderboard matmul\n#!PHOTOFINISH gpu h200\n")
    site.notes = ["The file names the board matmul, but it was sent to softmax, and that counts."]
    ended = photofinish("submit", str(kernel), "--board", "softmax", "--hardware", "cpu")
    assert (site.sent[0]["board"], site.sent[0]["hardware"]) == ("softmax", "cpu")
    assert site.notes[0] in ended.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"  \n", "has only blanks"),
        (b"x = 1\x00", "NUL"),
        (b"x = '\xff'", "not UTF-8: byte 0xff at offset 5"),
        (b"#" * 1_000_001, "at most 1,000,000 bytes"),
    ],
)
def test_bad_file_is_refused_before_it_is_sent(
    site: FakeSite, photofinish: Photofinish, kernel: Path, content: bytes, said: str
) -> None:
    kernel.write_bytes(content)
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert ended.code == 2
    assert said in ended.err
    assert site.tokens == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("/nowhere/kernel.py", "--board", "softmax"), "cannot be read"),
        (("/tmp", "--board", "softmax"), "cannot be read"),
        (("KERNEL", "--board", "softmax", "--mode", "fast"), "'fast' is not one of test, benchmark, ranked"),
        (("KERNEL", "--sideways"), "--sideways"),
    ],
)
def test_wrong_use_is_named(photofinish: Photofinish, kernel: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = photofinish("submit", *(str(kernel) if part == "KERNEL" else part for part in arguments))
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""


def test_submitting_needs_a_token(
    site: FakeSite, photofinish: Photofinish, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PHOTOFINISH_TOKEN")
    ended = photofinish("submit", str(kernel), "--board", "softmax")
    assert ended.code == 2
    assert "photofinish login" in ended.err
    assert site.sent == []


def test_show_repeats_the_verdict(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = WRONG
    ended = photofinish("show", "7")
    assert ended.code == 1
    assert "expected 0.25" in ended.out
    assert TOKEN not in ended.out


def test_addresses_are_whole(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    assert photofinish("show", "7").out.splitlines()[-1] == f"{site.url}/submissions/7"
    sent = photofinish("submit", str(kernel), "--board", "softmax", "--no-wait")
    assert sent.err.endswith(f"or {site.url}/submissions/7\n")


def test_address_that_is_whole_already_is_kept(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**PASSED, "url": "https://site.example/submissions/7"}
    assert photofinish("show", "7").out.splitlines()[-1] == "https://site.example/submissions/7"


@pytest.mark.parametrize("asked", ["abc", "-7", "7.5", "\u0667", "", "9" * 19, "../boards"])
def test_id_must_be_a_number(site: FakeSite, photofinish: Photofinish, asked: str) -> None:
    ended = photofinish("show", "--", asked)
    assert ended.code == 2
    assert ended.err.startswith(f"error: ID: {asked!r} is not the number of a submission")
    assert site.tokens == []


def test_unknown_submission_is_named(photofinish: Photofinish) -> None:
    ended = photofinish("show", "99")
    assert ended.code == 2
    assert "there is no submission 99, or it is not yours" in ended.err


def test_syntax_error_is_named_and_nothing_is_sent_unless_asked(
    site: FakeSite, photofinish: Photofinish, kernel: Path
) -> None:
    kernel.write_text("def custom_kernel(data):\n    return (\n")
    where = ("--board", "softmax", "--hardware", "cpu")
    refused = photofinish("submit", str(kernel), *where)
    assert refused.code == 2
    assert "kernel.py, line 2, column 12: '(' was never closed; nothing was sent (--no-check sends it anyway)" in (
        refused.err
    )
    assert site.sent == []
    assert photofinish("submit", str(kernel), *where, "--no-check").code == 0
    assert len(site.sent) == 1
