"""Tree of the daemon's errors; the judge's own errors live in runner/judge.

RunnerError
├── ConfigError            a setting is missing or wrong: the operator's turn
├── DeviceBusy             another runner on this host holds the device
├── SiteError
│   ├── SiteUnreachable    no answer, or a request to come later: try again
│   ├── Unauthorised       the token is not (or no longer) good: stop
│   ├── StaleLease         the attempt is no longer ours: drop it
│   └── SiteRefused        the request itself is wrong: trying again will not help
├── JudgeStopped           we ended the judge process: lease lost, cancelled, or the runner shuts down
└── JudgeFault             the judge process did not do its part; `reason` is the code for the report
    └── JudgeStale         its prepared containers grew old before it took a job: a new judge will do
"""

from typing import Final

STALE_EXIT: Final = 75  # of a judge process that gave up waiting without an exception (sysexits.h: EX_TEMPFAIL)


class RunnerError(Exception):
    """Base of all errors of the daemon; the text is a sentence for an operator."""


class ConfigError(RunnerError):
    """A setting is missing or wrong; the text names it and the remedy."""


class DeviceBusy(RunnerError):
    """Another process on this host holds the device's lock."""


class SiteError(RunnerError):
    """The site did not do the requested act."""


class SiteUnreachable(SiteError):
    """No answer, or a request to come later (429, 5xx). `retry_after_s` is the site's request, if it made any."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unauthorised(SiteError):
    """401 or 403: this runner's token is wrong, revoked, or for other hardware."""


class StaleLease(SiteError):
    """409: the lease on this attempt is lost; no further message for it will count."""


class SiteRefused(SiteError):
    """Any other refusal; `status` is the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class JudgeFault(RunnerError):
    """The judge process died, hung, broke the protocol or ran out of the site's time. `reason` is a code: judge_died,
    judge_hung, judge_protocol, out_of_time."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class JudgeStale(JudgeFault):
    """The judge gave up waiting before it read its job, since its containers were no longer fit."""


class JudgeStopped(RunnerError):
    """We ended the judge process ourselves; there is no report."""
