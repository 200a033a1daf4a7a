"""`.env.example` names exactly the settings that the site reads, with their defaults."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
READERS = (
    *("text", "secret", "boolean", "whole", "seconds", "one_of"),
    *("address", "words", "networks", "matching", "pairs"),
)
BY_PROCESS = ("STATEMENT_TIMEOUT_S", "LOCK_TIMEOUT_S", "IDLE_IN_TRANSACTION_TIMEOUT_S")  # differ in web processes
LINE = re.compile(r"(#?)([A-Z][A-Z0-9_]+)=(.*)")


def settings() -> dict[str, str | None]:
    """Return each variable with its default as text; None for a missing or computed default."""
    found: dict[str, str | None] = dict.fromkeys(BY_PROCESS)
    for path in sorted((TOP / "leaderboard").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                path.name != "env.py"
                and isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "env"
                and node.func.attr in READERS
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "default")]
                default = given[0].value if given and isinstance(given[0], ast.Constant) else None
                found[str(node.args[0].value)] = (
                    str(int(default)) if isinstance(default, bool) else default and str(default)
                )
    return found


def example() -> dict[str, tuple[bool, str]]:
    lines = (LINE.fullmatch(line) for line in (TOP / ".env.example").read_text().splitlines())
    return {line[2]: (bool(line[1]), line[3]) for line in lines if line}


def test_env_example_names_every_setting_and_no_other() -> None:
    missing, extra = settings().keys() - example().keys(), example().keys() - settings().keys()
    assert not missing, f"add to .env.example, with a comment: {sorted(missing)}"
    assert not extra, f"nothing reads these any more, remove them from .env.example: {sorted(extra)}"


def test_env_example_has_the_defaults_of_the_code() -> None:
    for name, default in settings().items():
        assert example()[name][1] == (default or ""), name


def test_env_example_is_a_working_environment_once_the_needed_lines_are_filled_in() -> None:
    given = {name: value for name, (is_comment, value) in example().items() if not is_comment}
    needed = [name for name, value in given.items() if not value]
    assert needed == ["SECRET_KEY", "DATABASE_URL", "BROKER_URL"]
    filled = {name: os.environ[name] for name in needed}
    command = [sys.executable, "-m", "leaderboard.manage", "check"]
    done = subprocess.run(command, cwd=TOP, env={**given, **filled}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_settings_document_is_what_the_generator_prints() -> None:
    command = [sys.executable, "-m", "tests.tools.settings_document"]  # here, other tests have read settings as well
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    remedy = "python -m tests.tools.settings_document > docs/settings.md"
    assert (TOP / "docs" / "settings.md").read_text() == done.stdout, remedy
