"""`photofinish show` prints what bounds a kernel, and writes the files of a profile."""

from pathlib import Path

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

PROFILE = {
    "case": "rows=8",
    "bound": "memory",
    "sentence": "Memory bounds \x1b[2Jthis kernel.",
    "figures": [
        {"name": "memory bandwidth", "percent": 71.4, "about": "of the peak"},
        {"name": "cores at work", "percent": None, "about": "of 1"},
    ],
    "rows": [{"name": "aten::mul", "calls": 3, "us": 60.0, "share": 0.75}],
    "notes": ["The host forbids counters."],
}
FILES = [{"name": name, "about": "", "bytes": 1, "url": ""} for name in ("operators.txt", "../../stolen")]


@pytest.fixture
def profiled(site: FakeSite) -> FakeSite:
    site.verdict = {**PASSED, "mode": "profile", "rank": None, "ratio": None, "score_us": None, "profile": PROFILE}
    site.verdict["files"] = FILES
    site.more["/submissions/7/files/operators.txt"] = {"as": "sent"}
    return site


def test_show_prints_sentence_figures_and_operators(profiled: FakeSite, photofinish: Photofinish) -> None:
    ended = photofinish("show", "7")
    assert ended.code == 0
    assert "profile      Memory bounds [2Jthis kernel.\n" in ended.out
    assert "memory bandwidth: 71 %, of the peak" in ended.out
    assert "cores at work: unknown" in ended.out
    assert "note         The host forbids counters." in ended.out
    assert "aten::mul\t3\t60.00 µs\t75 %" in ended.out
    assert "not ranked: this was --mode profile" in ended.out


def test_files_are_written_under_known_names_only(profiled: FakeSite, photofinish: Photofinish, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert photofinish("show", "7", "--files", str(folder)).code == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"operators.txt": '{"as": "sent"}'}
    assert not (tmp_path / "stolen").exists()


def test_submission_without_files_says_how_to_get_them(
    site: FakeSite, photofinish: Photofinish, tmp_path: Path
) -> None:
    ended = photofinish("show", "7", "--files", str(tmp_path / "x"))
    assert (ended.code, (tmp_path / "x").exists()) == (2, False)
    assert "--mode profile" in ended.err


def test_mode_is_sent(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    photofinish("submit", str(kernel), "--board", "softmax", "--hardware", "cpu", "--mode", "profile", "--no-watch")
    assert site.sent[0]["mode"] == "profile"
