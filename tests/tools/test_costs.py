"""Times of tests in tests/costs.json, and the wait for the sandbox image."""

import fcntl
import json
import sys
import tempfile
from pathlib import Path

import pytest

from tests import conftest
from tests.tools.test_run import made_beside


def test_cost_of_a_test_is_its_longest_time_without_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "COSTS", tmp_path / "costs.json")
    writer = conftest.CostWriter()
    for case, call_s in (("a", 0.9), ("b", 1.0), ("c", 0.1)):
        for when, duration in (("setup", 5.5), ("call", call_s), ("teardown", 0.1)):
            properties = [(conftest.WAITED, 4.0), (conftest.WAITED, 1.0)]
            nodeid, place = f"t.py::test_a[{case}]", ("t.py", 1, "")
            report = pytest.TestReport(
                nodeid,
                place,
                {},
                "passed",
                None,
                when,
                duration=duration,
                user_properties=properties,  # type: ignore[arg-type]
            )
            writer.pytest_runtest_logreport(report)
    writer.pytest_sessionfinish()
    assert json.loads((tmp_path / "costs.json").read_text()) == {"t.py::test_a": 1.6}


def test_lock_of_the_image_is_held_until_its_build_ends() -> None:
    build = [sys.executable, "-c", "import time; time.sleep(1); print('built')"]
    with tempfile.TemporaryFile("w+") as output, made_beside(build, output) as path, open(path) as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(lock, fcntl.LOCK_SH)
        output.seek(0)
        assert output.read() == "built\n"
    assert not Path(path).exists()
