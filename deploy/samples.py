"""Sample submissions of a fresh site: sent with the real command line as the sample accounts, really judged.

A pure function assigns files to accounts. The site reports the submissions that it has already, so that a second run
sends only the missing files.
"""

import os
import time
import urllib.error
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from deploy.console import SetupError, captured, note, say
from deploy.processes import CLEAN_ENVIRONMENT
from deploy.site import Site, get_json

ACCOUNTS: Final = ("ada", "ben", "cleo", "dora", "emil")
LIBRARY: Final = Path("problems") / "library" / "kernels101"
SEND_TIMEOUT_S: Final = 60.0
SILENCE_S: Final = 900.0
LOOK_EVERY_S: Final = 2.0
UNFINISHED: Final = ("queued", "claimed", "building", "checking", "timing", "lost")  # a lost attempt is queued again
ROUNDS: Final = 3
BUSY: Final = (429, 502, 503, 504)  # answers of a site that has too much to do just now
SENT_AGAIN: Final = ("unmeasurable", "infra_error")  # a verdict on the machine, not on the kernel


@dataclass(frozen=True)
class Sample:
    """A file that an account sends to a board; `folder` names the expected verdict."""

    account: str
    board: str
    folder: str  # accepted, slow or wrong
    path: Path  # an account sends no two files of one name to a board

    @property
    def title(self) -> str:
        return f"{self.folder}/{self.path.name}"


def plan(library: Path) -> list[Sample]:
    """Plan softmax for every account, with different accepted files as far as they go, and a vectoradd of each kind."""
    softmax = zip(ACCOUNTS, cycle(_files(library / "softmax", "accepted")), strict=False)
    samples = [Sample(account, "softmax", "accepted", path) for account, path in softmax]
    for account, folder in {"ada": "accepted", "ben": "wrong", "cleo": "slow"}.items():
        samples += [Sample(account, "vectoradd", folder, path) for path in _files(library / "vectoradd", folder)[:1]]
    return samples


def _files(problem: Path, folder: str) -> list[Path]:
    return sorted((problem / "submissions" / folder).glob("*.py"))


def submit_all(site: Site, samples: list[Sample], tokens: dict[str, str]) -> None:
    """Send samples without a verdict, print each verdict as it comes, then all of them as a table.

    A sample that a busy machine could not measure is sent again, as its competitor would do.
    """
    samples = [sample for sample in samples if sample.account in tokens]
    for _ in range(ROUNDS):
        has_sent = send_missing(site, samples, tokens)
        _watch(site, samples, tokens)
        if not has_sent:
            break
    rows = [("account", "board", "file", "verdict", "speedup", "rank")]
    for sample in samples:
        if judged := _verdict_of(site, sample, tokens):
            rows.append((sample.account, sample.board, sample.title, *judged))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("     " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def send_missing(site: Site, samples: list[Sample], tokens: dict[str, str]) -> bool:
    """Send samples without a verdict. Return False if all have a verdict."""
    has_sent = False
    for sample in [sample for sample in samples if sample.account in tokens]:
        row = _find(site, sample, tokens)
        if row is None or row["outcome"] in SENT_AGAIN:
            _send(site, sample, tokens)
            has_sent = True
    return has_sent


def _watch(site: Site, samples: list[Sample], tokens: dict[str, str]) -> None:
    """Wait until no sample is under way, or no verdict has come for SILENCE_S."""
    pending = [sample for sample in samples if _is_under_way(site, sample, tokens)]
    if pending:
        note(f"{len(pending)} submissions are judged one after the other; Ctrl-C ends the watching, not the judging")
    heard = time.monotonic()
    while pending and time.monotonic() - heard < SILENCE_S:
        time.sleep(LOOK_EVERY_S)
        for sample in [sample for sample in pending if not _is_under_way(site, sample, tokens)]:
            pending.remove(sample)
            heard = time.monotonic()
            if judged := _verdict_of(site, sample, tokens):
                word, faster, rank = judged
                note(f"{sample.account:5} {sample.board:10} {sample.title}: {word}, speedup {faster}, rank {rank}")
    if pending:
        note(f"{len(pending)} are still not judged after {SILENCE_S:.0f} s without news: see `make logs`")


def _is_under_way(site: Site, sample: Sample, tokens: dict[str, str]) -> bool:
    row = _find(site, sample, tokens)
    return row is not None and row["status"] in UNFINISHED


def submit_command(program: Path, sample: Sample) -> list[str]:
    options = ["--board", sample.board, "--hardware", "cpu", "--mode", "ranked", "--no-wait"]
    return [str(program), "submit", str(sample.path), *options]


def _send(site: Site, sample: Sample, tokens: dict[str, str]) -> None:
    environment = {**CLEAN_ENVIRONMENT, "HOME": os.environ.get("HOME", "/"), "PHOTOFINISH_URL": site.url}
    environment["PHOTOFINISH_TOKEN"] = tokens[sample.account]
    command = submit_command(site.python.parent / "photofinish", sample)
    done = captured(command, env=environment, timeout=SEND_TIMEOUT_S)
    if done.returncode:
        note(f"{sample.account} could not send {sample.title}: {(done.stdout + done.stderr).strip()[-600:]}")


def _find(site: Site, sample: Sample, tokens: dict[str, str]) -> Any:
    """Return the account's newest submission of that file on that board, or None."""
    listed = _ask(site, f"submissions?board={sample.board}&limit=100", tokens[sample.account])
    rows = listed["results"] if isinstance(listed, dict) else listed
    return next((row for row in rows if row["filename"] == sample.path.name and row["board"] == sample.board), None)


def _verdict_of(site: Site, sample: Sample, tokens: dict[str, str]) -> tuple[str, str, str] | None:
    """Return the verdict on the account's newest submission of that file; None if it sent none."""
    row = _find(site, sample, tokens)
    return row and verdict(_ask(site, f"submissions/{row['id']}", tokens[sample.account]))


def _ask(site: Site, path: str, token: str) -> Any:
    """Return an answer of the API. Ask a busy or silent site again, for SILENCE_S at most; then raise SetupError."""
    asked = time.monotonic()
    while True:
        try:
            return get_json(f"{site.url}/api/v1/{path}", token)
        except (OSError, ValueError) as error:
            is_refusal = isinstance(error, urllib.error.HTTPError) and error.code not in BUSY
            if is_refusal or time.monotonic() - asked > SILENCE_S:
                raise SetupError(
                    f"the site at {site.url} did not answer about {path}: {error}; see `make logs`"
                ) from None
            wait = error.headers.get("Retry-After", "") if isinstance(error, urllib.error.HTTPError) else ""
            time.sleep(min(float(wait), 60.0) if wait.isdecimal() else LOOK_EVERY_S)


def verdict(submission: dict[str, Any]) -> tuple[str, str, str]:
    """Return verdict, speedup over the baseline and rank of a submission, as text for a table."""
    word = str(submission.get("outcome") or submission["status"])
    if reason := submission.get("reason"):
        word += f" ({reason})"
    if review := submission.get("review"):
        word += f", {str(review).replace('_', ' ')}"
    ratio = submission.get("ratio")
    rank = submission.get("rank")
    return word, f"{1 / ratio:.3f}×" if ratio else "-", str(rank) if rank else "-"
