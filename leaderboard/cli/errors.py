"""Failures of the command; each carries its exit code and a single sentence for a person.

CliError
├── Misuse            wrong flag, file or setting: found before sending                    exit code 2
├── Refused           the site refuses: permission, input, quota or rate                   exit code 2
└── SiteProblem       no answer, or an answer without meaning                              exit code 3
"""

from __future__ import annotations

from typing import ClassVar


class CliError(Exception):
    exit_code: ClassVar[int]


class Misuse(CliError):
    exit_code = 2


class Refused(CliError):
    exit_code = 2

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class SiteProblem(CliError):
    exit_code = 3
