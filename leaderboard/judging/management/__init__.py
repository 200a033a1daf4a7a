"""Base of the commands that run an act of the operator, with a reason."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.runners import runner_named


class ActCommand(BaseCommand):
    """`ARGUMENTS --reason TEXT`. A subclass names its arguments and runs `act`; text that `act` returns is printed."""

    arguments: tuple[str, ...] = ("name",)

    def add_arguments(self, parser: CommandParser) -> None:
        for name in self.arguments:
            parser.add_argument(name)
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, reason: str, **options: Any) -> str | None:
        try:
            return self.act(options, actor=None, reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None

    def act(self, options: dict[str, Any], **known: Any) -> str | None:
        raise NotImplementedError


class RunnerCommand(ActCommand):
    """An act on the runner `NAME`."""

    act_on_runner: ClassVar[Callable[..., None]]

    def act(self, options: dict[str, Any], **known: Any) -> None:
        type(self).act_on_runner(runner=runner_named(options["name"]), **known)
