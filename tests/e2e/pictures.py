"""`make pictures`: the pictures of docs/img, of a scratch site with sample data.

python -m tests.e2e.pictures

Needs chromium. Everything is sent, claimed and reported through the code of the site; the times are made up, and the
pages follow from them. A single result is implausibly good, as material for a review case.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.board import scratch_site
from deploy.console import say
from tests.e2e.browser import FLAGS
from tests.web.live_site import live_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES: Final = Path(__file__).parents[2] / "docs" / "img"
LIBRARY: Final = "problems/library/kernels101.yaml"
SOURCES: Final = Path("problems/library/kernels101/softmax")
BASELINE_US: Final = 2_860.0
CASES: Final = (("rows=1531, cols=2047", 0.97), ("rows=1024, cols=4096", 1 / 0.97))  # and a share of the ratio
WIDTH: Final = 1400
# Entrants with the kind of their kernel, its time beside the baseline's, and the half-width of that ratio's interval.
SENT: Final = (
    ("dora", "template.py", 1.004, 0.011),
    ("finn", "template_c.py", 1.322, 0.019),
    ("ben", "template_c.py", 0.823, 0.011),
    ("emil", "template.py", 0.962, 0.009),
    ("cleo", "template_c.py", 0.871, 0.012),
    ("grete", "template_cpp.py", 0.914, 0.008),
    ("ben", "template_c.py", 0.816, 0.010),
    ("ada", "template_cpp.py", 0.702, 0.007),
    ("hugo", "template_cpp.py", 0.759, 0.009),
)
LEAPER: Final = ("ines", "template_c.py", 0.19, 0.010)


def main() -> None:
    with scratch_site():
        from django.utils import timezone

        now = timezone.now()
        os.environ["ALLOWED_HOSTS"] = "127.0.0.1"  # of the process that serves
        _found_competition()
        for hours, sent in zip(range(len(SENT), 0, -1), SENT, strict=True):
            _judge(*sent, now - timedelta(hours=5 * hours))
        case = _judge(*LEAPER, now - timedelta(hours=2))
        signed_in = _session()
        with _browser() as page:
            _picture(page, "/boards/softmax/cpu", "board.png")
            page.context.add_cookies(
                [{"name": "sessionid", "value": signed_in, "url": page.evaluate("location.origin")}]
            )
            _picture(page, f"/review/{case}", "review-case.png", above="Cases")


def _found_competition() -> None:
    from django.core.management import call_command

    call_command("import_problems", LIBRARY, "--hardware", "cpu", "--admission", "none", "--publish", verbosity=0)


def _judge(name: str, source: str, ratio: float, half_width: float, now: datetime) -> int:
    """Send a kernel, claim it and report a pass. Returns the key of its result."""
    from leaderboard import pipeline
    from leaderboard.accounts.models import User
    from leaderboard.judging.models import Result, Runner
    from leaderboard.judging.runners import create_runner
    from leaderboard.submissions.intake import Upload
    from runner.wire import Report
    from tests.runner.judge.suspects import case, evidence

    owner, _ = User.objects.get_or_create(username=name)
    runner = Runner.objects.first() or create_runner(name="runner-1", hardware="cpu", now=now)[0]
    code = (
        SOURCES / source
    ).read_text() + f"\n# Sent by {name} to make a picture, at {ratio} of the baseline's time.\n"
    submission = pipeline.submit(
        Upload(board="softmax", hardware="cpu", mode="ranked", filename="softmax.py", data=code.encode()),
        owner=owner,
        now=now,
    )
    job = pipeline.claim_work(runner=runner, now=now + timedelta(seconds=4))
    assert job is not None
    timing = [
        case(candidate=BASELINE_US * 1e3 * ratio * share, baseline=BASELINE_US * 1e3, name=name)
        for name, share in CASES
    ]
    report = Report(
        attempt_id=job.attempt_id,
        token=job.token,
        outcome="passed",
        score_us=BASELINE_US * ratio,
        ratio=ratio,
        half_width=half_width,
        telemetry="full",
        evidence=evidence(*timing, clock="wall"),
    )
    pipeline.take_report(runner=runner, report=report, now=now + timedelta(seconds=70))
    _confirm(runner, now + timedelta(seconds=74))
    return Result.objects.get(attempt__submission=submission).pk


def _confirm(runner: Any, now: datetime) -> None:
    """Confirm a new first place with the gain of the two results."""
    from leaderboard import pipeline
    from leaderboard.judging.models import Result
    from tests.leaderboard.records import found

    job = pipeline.claim_work(runner=runner, now=now)
    if job is None:
        return
    assert job.incumbent is not None
    taken, held = (
        Result.objects.get(attempt__submission=submission).ratio or 1.0
        for submission in (job.submission_id, job.incumbent.submission_id)
    )
    gain = 1 - taken / held
    gains = [round(gain + step / 1_000, 4) for step in (0, 1, -1, 2, -2)]
    told = {
        "sentence": f"A record: {100 * gain:.2f} % faster in the median of 5 runs.",
        "gains": gains,
        "median_gain": gains[0],
        "least_gain": min(gains),
    }
    pipeline.take_report(runner=runner, report=found(job, told=told, ratio=taken), now=now + timedelta(minutes=5))


@contextmanager
def _browser() -> Iterator[Page]:
    """A page in the light theme, at the address of a live site."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("there is no chromium: `apt-get install chromium fonts-dejavu-core`")
    with live_site() as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page(base_url=site.address, color_scheme="light", viewport={"width": WIDTH, "height": 600})
        page.goto("/")
        yield page
        browser.close()


def _session() -> str:
    """The session of an organiser who is signed in."""
    from django.test import Client

    from leaderboard.accounts.models import User

    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    return str(client.cookies["sessionid"].value)


def _picture(page: Page, address: str, name: str, above: str = "") -> None:
    """The page, or its part above this heading."""
    answer = page.goto(address)
    assert answer is not None
    if answer.status != 200 or not answer.url.endswith(address):
        raise SystemExit(f"{address} answers {answer.status} at {answer.url}")
    height = page.evaluate("document.documentElement.scrollHeight")
    if above:
        box = page.get_by_role("heading", name=above, exact=True).bounding_box()
        assert box is not None
        height = box["y"] - 32
    page.screenshot(path=IMAGES / name, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    say(f"{name}: {(IMAGES / name).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
