"""Print docs/settings.md: every setting of the site and of a runner, from `.env.example` and the code.

python -m tests.tools.settings_document > docs/settings.md
"""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import django
from annotated_types import Ge, Le
from django.conf import settings
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from deploy.parties import CHECKOUT
from leaderboard import env
from runner.config import DaemonSettings

HEAD: Final = """\
<!-- Made by `python -m tests.tools.settings_document` from .env.example, leaderboard/env.py and runner/config.py. -->

# Settings

Site and runner read environment variables once, at start. An invalid value, and a combination that is unsafe on a
public site, ends the start with a sentence that names variable, value and remedy. A table cell `needed` marks a
setting without a default.

## The site

The same file goes to web processes, site worker, sweeper and `manage`: [.env.example](../.env.example) is its form.

"""
RUNNER: Final = """
## A runner

Set up step by step: [gpu-hosts](gpu-hosts.md).

"""
TABLE: Final = "| variable | default | valid | meaning |\n| --- | --- | --- | --- |"
LINE: Final = re.compile(r"#?([A-Z][A-Z0-9_]+)=(.*)")


def document() -> str:
    django.setup()
    import_module(settings.ROOT_URLCONF)  # with every module that reads a setting, which fills env.READ
    site = "\n".join([TABLE, *_site_rows((CHECKOUT / ".env.example").read_text())])
    fields = DaemonSettings.model_fields.items()
    runner = "\n".join([TABLE, *(_runner_row(name, field) for name, field in fields if field.description)])
    return f"{HEAD}{site}\n{RUNNER}{runner}\n"


def _site_rows(example: str) -> Iterator[str]:
    """Yield a row for each setting. A comment belongs to all settings up to the next comment."""
    comment, is_fresh = "", True
    for line in example.splitlines():
        if setting := LINE.fullmatch(line):
            name, default = setting.groups()
            read, is_fresh = env.READ[name], True
            yield _row(name, "needed" if read.default is None else default, read.valid, comment)
        elif line.startswith("# ---") or not line:
            comment, is_fresh = "", True
        else:
            comment = line[2:] if is_fresh else f"{comment} {line[2:]}"
            is_fresh = False


def _runner_row(name: str, field: FieldInfo) -> str:
    least = [bound.ge for bound in field.metadata if isinstance(bound, Ge)]
    most = [bound.le for bound in field.metadata if isinstance(bound, Le)]
    valid = f"{least[0]} … {most[0] if most else ''}".rstrip() if least else ""
    patterns = [str(bound.pattern) for bound in field.metadata if getattr(bound, "pattern", None)]
    if choices := re.fullmatch(r"\^\(([A-Za-z|]+)\)\$", "".join(patterns)):
        valid = choices[1].replace("|", ", ")
    default = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    if field.is_required():
        default = "needed"
    elif field.default_factory or default is None:
        default = ""
    elif isinstance(default, bool):
        default, valid = int(default), "0, 1"
    return _row(name.upper(), f"{default:g}" if isinstance(default, float) else str(default), valid, field.description)


def _row(name: str, default: str, valid: str, meaning: str | None) -> str:
    shown = default if default in ("", "needed") else f"`{default}`"
    return f"| `{name}` | {shown} | {valid} | {meaning} |"


if __name__ == "__main__":
    env.choose_settings("leaderboard.settings")
    sys.stdout.write(document())
