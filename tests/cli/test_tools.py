"""`photofinish completion`, `doctor` and `skill`."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import typer

from leaderboard.cli import config
from leaderboard.cli.main import app
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import TOKEN, FakeSite


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("photofinish pro", {"profile", "problem", "problems"}),
        ("photofinish problem pu", {"pull"}),
        ("photofinish submit k.py --hard", {"--hardware"}),
        ("photofinish --profile x problem ne", {"new"}),
        ("photofinish match worklog p", {"pull", "push", "publish"}),
        ("photofinish submit k.py --mode be", {"benchmark"}),
        ("photofinish admin standing summer fr", {"freeze"}),
        ('photofinish submit ""', set()),  # bash then names files
    ],
)
def test_bash_completes_commands_and_options(photofinish: Photofinish, words: str, expected: set[str]) -> None:
    script = photofinish("completion", "bash").out
    ask = f'COMP_WORDS=({words}); COMP_CWORD={len(words.split()) - 1}; _photofinish; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


def test_completion_takes_the_shell_in_use_and_refuses_unknown_ones(
    photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert photofinish("completion").out.startswith("complete -c photofinish ")
    assert photofinish("completion", "zsh").out.startswith("autoload -U +X bashcompinit")
    refused = photofinish("completion", "cmd")
    assert (refused.code, refused.err) == (2, "error: shell: 'cmd' is none of bash, zsh, fish\n")


def test_doctor_finds_a_file_that_others_can_read(site: FakeSite, photofinish: Photofinish) -> None:
    photofinish("login", "--token", TOKEN, "--url", site.url)
    checks = {check["name"]: check for check in json.loads(photofinish("doctor", "--json").out)}
    assert checks["token"] == {"name": "token", "good": True, "found": "of ada, may read, submit"}
    assert "your clock differs" in checks["site"]["found"], "the fake site's clock stands still"
    config.config_path().chmod(0o644)
    ended = photofinish("doctor")
    assert ended.code == 1
    assert "chmod 600" in ended.out


def test_doctor_without_site_and_token_names_both(photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.client.clients.backoff_s", lambda attempt: 0.0)
    ended = photofinish("--url", "http://127.0.0.1:1", "doctor")
    assert ended.code == 1
    assert "no answer" in ended.out
    assert "run `photofinish login`" in ended.out


def test_skill_is_printed_or_written_once(photofinish: Photofinish, tmp_path: Path) -> None:
    text = photofinish("skill").out
    assert text.startswith("---\nname: photofinish\n")
    folder = tmp_path / "skills" / "photofinish"
    assert photofinish("skill", "--into", str(folder)).code == 0
    assert (folder / "SKILL.md").read_text() == text
    assert photofinish("skill", "--into", str(folder)).code == 2


def test_skill_names_commands_that_exist(photofinish: Photofinish) -> None:
    text = photofinish("skill").out
    for command in ("boards", "board", "problem pull", "run", "submit", "show", "diff", "competitions", "quota"):
        assert f"photofinish {command}" in text
        if command != "run":
            assert photofinish(*command.split(), "--help").code == 0


@pytest.mark.parametrize(("folder", "suffix"), [("leaderboard", "py"), ("docs", "md")])
def test_every_command_that_a_text_names_exists(folder: str, suffix: str) -> None:
    photofinish = typer.main.get_command(app)
    for path in (Path(__file__).parents[2] / folder).rglob(f"*.{suffix}"):
        for words in re.findall(r"`photofinish ([a-z][a-z -]*)", path.read_text()):
            command = photofinish
            for word in words.split():
                if not isinstance(command, typer.core.TyperGroup):
                    break
                assert word in command.commands, f"{path}: {words}"
                command = command.commands[word]
