"""A run's time is its measured time on every page, and no run of another entrant changes it."""

import re
from typing import Any

import pytest

from leaderboard.cli.main import run as photofinish
from runner.evidence import verdict
from tests.runner.evidence.test_verdict import evidence, timing
from tests.runner.evidence.whole import parsed
from tests.web.live_site import live_site

MEASURED = "1.822\N{NARROW NO-BREAK SPACE}ms"  # the geometric mean of 1.641 and 2.024 ms
LIST, RANKING = "/submissions", "/boards/softmax/cpu"
NEIGHBOURS = r'<nav class="actions" aria-label="Through the ranking">.*?</nav>'  # a new line may come between
API_RANKING = "/api/v1/boards/softmax/cpu/entries"


def reported(*measured_ns: float, baseline_ns: float = 3e6, reference_ns: float | None = 4e6) -> dict[str, Any]:
    """Return the judge's report for these measured times, in an epoch with a different frozen reference time."""
    timings = [
        timing(name, measured / baseline_ns, baseline=baseline_ns, spread=0) | {"reference_ns": reference_ns}
        for name, measured in zip("ab", measured_ns, strict=False)
    ]
    found = parsed(evidence(timing=timings))
    decided = verdict.decide(found)
    cases = tuple(verdict.shown_cases(found, decided))
    return {"score_us": decided.score_us, "ratio": decided.ratio, "half_width": 0.004, "cases": cases}


def text_of(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return re.sub(r'[^<>]* ago(?=</time>)|csrfmiddlewaretoken" value="[^"]+', "", answer.content.decode())


def test_cases_of_1641_and_2024_us_are_1822_us_on_every_page_and_in_the_api(stage, browser, tool) -> None:
    submission = stage.submit()
    stage.judge(submission, **reported(1.641e6, 2.024e6))
    pages = (f"/submissions/{submission.pk}", LIST, RANKING, "/boards/softmax", "/", f"/entries/{submission.pk}")
    for page in pages:
        text = text_of(browser(stage.ada), page)
        assert MEASURED in text, page
        assert "1.646×" in text, page
    script = tool(stage.ada)
    [line] = script.get(API_RANKING).json()
    sent = script.get(f"/api/v1/submissions/{submission.pk}").json()
    entry = script.get(f"/api/v1/entries/{submission.pk}").json()
    for told in (line, sent, sent["value"], entry):
        assert told["score_us"] == pytest.approx((1641 * 2024) ** 0.5, rel=1e-6)
        assert told["ratio"] == pytest.approx((1.641 * 2.024) ** 0.5 / 3, rel=1e-6)


def test_the_value_of_a_kernel_has_the_mean_time_of_its_own_runs(stage, browser) -> None:
    for measured_ns, baseline_ns in ((1.21e6, 2e6), (4e6, 4e6)):
        stage.judge(stage.submit(kernel=1), **reported(measured_ns, baseline_ns=baseline_ns))
    [line] = browser(None).get(API_RANKING).json()
    assert (line["runs"], line["score_us"]) == (2, pytest.approx(2200))
    assert line["ratio"] == pytest.approx(0.605**0.5)


def test_another_entrants_run_leaves_every_shown_figure_of_the_others_byte_for_byte(stage, browser) -> None:
    """The machine becomes slower from run to run, before a frozen reference time exists."""
    sent = []
    runs = ((stage.ada, 1, 1.641e6, 3e6), (stage.ada, 1, 1.8e6, 3.3e6), (stage.cleo, 2, 3.4e6, 3.6e6))
    for owner, kernel, measured_ns, baseline_ns in runs:
        sent.append(stage.submit(owner, kernel=kernel))
        stage.judge(sent[-1], **reported(measured_ns, baseline_ns=baseline_ns, reference_ns=None))
    pages = [address for one in sent for address in (f"/submissions/{one.pk}", f"/entries/{one.pk}")]

    def seen() -> list[str]:
        rows = re.findall(r'<tr class="place-.*?</tr>', text_of(browser(None), RANKING), re.DOTALL)
        lines = text_of(browser(None), API_RANKING).split("{")[1:]
        return [
            *(re.sub(NEIGHBOURS, "", text_of(browser(stage.olga), page)) for page in pages),
            *(text_of(browser(stage.olga), f"/api/v1{page}") for page in pages),
            *(row for row in rows if ">ben<" not in row),
            *(line.rstrip(",]") for line in lines if '"ben"' not in line),
            *re.findall(r'<div class="leader">.*?</div>', text_of(browser(None), "/"), re.DOTALL),
        ]

    before = seen()
    stage.judge(stage.submit(stage.ben), **reported(5.9e6, baseline_ns=6e6, reference_ns=None))
    assert len(browser(None).get(API_RANKING).json()) == 3
    assert seen() == before


def test_the_strip_of_a_board_is_drawn_on_the_scale_of_the_baseline(stage, browser) -> None:
    for owner, measured_ns, baseline_ns in ((stage.ada, 1.2e6, 2e6), (stage.ben, 3e6, 4e6)):
        stage.judge(stage.submit(owner), **reported(measured_ns, baseline_ns=baseline_ns))
    text = text_of(browser(None), RANKING)
    assert re.findall(r'class="base" x="([^"]+)%"', text) == ["100.0", "100.0"]
    assert re.findall(r'class="mark" x="([^"]+)%"', text) == ["60.0", "75.0"]


@pytest.mark.django_db(transaction=True)
def test_the_command_line_shows_speedup_and_measured_time(transactional_db, tmp_path, monkeypatch, capsys) -> None:
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token
    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    submission = stage.submit()
    stage.judge(submission, **reported(1.641e6, 2.024e6))
    _, token = issue_token(owner=stage.ada, name="test", scopes=("read",), now=timezone.now())
    with live_site() as site:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        monkeypatch.setenv("PHOTOFINISH_URL", site.address)
        monkeypatch.setenv("PHOTOFINISH_TOKEN", token)
        told = {}
        for command in (("board", "softmax"), ("show", str(submission.pk)), ("list",)):
            monkeypatch.setattr("sys.argv", ["photofinish", *command])
            with pytest.raises(SystemExit):
                photofinish()
            told[command[0]] = capsys.readouterr().out
    assert "1.646×\t±0.4 %\t1.822 ms" in told["board"]
    assert "speedup      1.646× as fast as the baseline, 95 % interval ±0.4 %" in told["show"]
    assert "time         1.822 ms" in told["show"]
    assert "1.646×\t1.822 ms" in told["list"]
