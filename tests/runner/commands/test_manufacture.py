"""`runner manufacture` keeps the kernels that the judge verified, and goes on after an interruption."""

import json
import sys
from pathlib import Path

import pytest
from pyarrow.parquet import read_table

from leaderboard.dataset import columns
from runner.commands import main, manufacture
from runner.commands.local import UsageError
from runner.commands.manufacture import FORMAT, Journal, Made
from sandbox.container import SandboxError
from tests.conftest import SANDBOX_IMAGE

IMPORTS = "import os\nimport torch\nfrom torch import nn\n\n\n"
INPUTS = "\n\ndef get_inputs():\n    return [torch.rand(64, 512){more}]\n"
NORMED = """class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(512, 64), nn.BatchNorm1d(64))

    def forward(self, x):
        return {"out": torch.softmax(self.layers(x), -1)}, 1
"""
BREAKS = """class Model(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum().item() > 1e9 else x * 2
"""
NUMBERED = """class Model(nn.Module):
    def forward(self, x, number):
        return x * number
"""
DROPS = """class Model(nn.Module):
    def forward(self, x):
        return torch.rand_like(x)
"""
ENDS = """class Model(nn.Module):
    def __init__(self):
        os._exit(3)

    def forward(self, x):
        return x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of modules: one that passes, and one for each way to be left out."""
    found = tmp_path / "modules"
    found.mkdir()
    for name, body, more in (
        ("1_Normed", NORMED, ""),
        ("breaks", BREAKS, ""),
        ("drops", DROPS, ""),
        ("ends", ENDS, ""),
        ("numbered", NUMBERED, ", int(torch.randint(2, 1000, ()))"),
    ):
        (found / f"{name}.py").write_text(IMPORTS + body + INPUTS.format(more=more))
    (found / "text.py").write_text("no python\n")
    return found


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["runner", "manufacture", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return int(ended.value.code or 0)


@pytest.mark.docker
@pytest.mark.timeout(600)  # five modules, three of which torch compiles
def test_manufacture_keeps_verified_kernels_with_reasons_for_the_rest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SANDBOX_IMAGE", SANDBOX_IMAGE)
    monkeypatch.setenv("RUNNER_HARDWARE", "cpu")
    monkeypatch.setenv("RUNNER_LOCKS", str(tmp_path))
    into = tmp_path / "made"
    arguments = (folder, "--licence", "MIT", "--into", into, "--mode", "test", "--json")
    assert run(monkeypatch, *arguments) == 0
    lines = {Path(one["file"]).stem: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert {name: one["outcome"] for name, one in lines.items()} == {
        "1_Normed": "passed",
        "breaks": "not_compiled",
        "drops": "not_suited",
        "ends": "not_compiled",
        "numbered": "wrong",
        "text": "not_a_module",
    }
    assert "random" in lines["drops"]["message"]
    assert "ended without an answer" in lines["ends"]["message"]
    assert "data-dependent" in lines["breaks"]["message"].lower() or "item" in lines["breaks"]["message"]

    [kernel] = [row for path in into.glob("data/kernels/*.parquet") for row in read_table(path).to_pylist()]
    assert list(kernel) == list(columns.KERNELS)
    assert (kernel["source"], kernel["licence"], kernel["outcome"]) == ("manufactured", "MIT", "passed")
    assert "cpp_fused" in kernel["code"]
    assert "self.layers._modules['0'].weight" in kernel["code"]
    assert (
        kernel["reference"]
        == (folder / "1_Normed.py").read_text().rstrip() + "\n\ndef get_init_inputs():\n    return []\n"
    )
    assert json.loads(kernel["machine"])["torch"].startswith("2.")
    [wrong] = [row for path in into.glob("data/rejected/*.parquet") for row in read_table(path).to_pylist()]
    assert (list(wrong), wrong["kind"]) == (list(columns.REJECTED), "failed")

    def never(*given: object) -> None:
        raise AssertionError("a module that is done is compiled again")

    monkeypatch.setattr(manufacture, "emit", never)
    assert run(monkeypatch, *arguments) == 0
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["new"] for one in again] == [False] * 6
    assert (into / "data/README.md").exists()


def test_manufacture_ends_when_this_host_fails_again_and_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*given: object) -> None:
        raise SandboxError("no engine answers")

    monkeypatch.setattr(manufacture, "emit", fail)
    monkeypatch.setenv("RUNNER_HARDWARE", "cpu")
    monkeypatch.setenv("RUNNER_LOCKS", str(tmp_path))
    (folder / "drops.py").unlink()  # it is left out before it is compiled, which ends the row
    assert run(monkeypatch, folder, "--licence", "MIT", "--into", tmp_path / "made") == 2
    assert "3 modules in a row failed on this host: no engine answers" in capsys.readouterr().err.replace("\n", " ")
    journal = Journal(tmp_path / "made")
    assert [one.is_done for one in journal.made.values()] == [False] * 3
    journal.close()


def test_journal_drops_a_line_that_was_cut_off(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(Made("a.py", "1", "not_compiled"))
    journal.close()
    path = tmp_path / manufacture.JOURNAL
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"format": "manu')
    journal = Journal(tmp_path)
    journal.add(Made("b.py", "2", "infra_error"))
    assert [one.is_done for one in journal.made.values()] == [True, False]
    journal.close()
    assert path.read_bytes().startswith(whole + b'{"format": "' + FORMAT.encode())


def test_journal_names_a_damaged_line_and_a_second_writer(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(UsageError, match="another command writes"):
        Journal(tmp_path)
    journal.close()
    (tmp_path / manufacture.JOURNAL).write_text('{"format": "search/1"}\n')
    with pytest.raises(UsageError, match="line 1"):
        Journal(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--licence", "mine"), "--licence 'mine' is not one of Apache-2.0, "),
        (("--licence", "MIT", "--mode", "profile"), "--mode 'profile' is not one of test, "),
        (("--licence", "MIT"), "no file ends in .py"),
    ],
)
def test_manufacture_refuses_with_a_sentence(
    arguments: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, tmp_path / "empty", *arguments) == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "manufactured").exists()
