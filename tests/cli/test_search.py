"""`photofinish search` against a site that judges kernels by a comment in them."""

import io
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from leaderboard.cli.render import Screen
from leaderboard.cli.search import _view
from leaderboard.client.search import State, summary
from leaderboard.client.search.archive import Candidate
from leaderboard.client.search.journal import NAME
from tests.cli.chat_server import chat_server
from tests.cli.conftest import Photofinish, Terminal
from tests.cli.fake_site import FakeSite
from tests.cli.test_search_proposers import KEY

pytestmark = pytest.mark.usefixtures("signed_in", "judging")

RATIO = re.compile(r"# ratio (\d[0-9.]*)")
BOARD = {
    "slug": "softmax",
    "title": "Row softmax",
    "hardware": ["cpu"],
    "description": "Turn rows into probabilities.",
    "templates": {"Python": "import torch"},
    "reference": "def ref_kernel(data): ...",
}


class Judging:
    """Batches of a site: a kernel with “# ratio 0.5” passes, each other kernel is wrong."""

    def __init__(self) -> None:
        self.batches: list[dict[str, Any]] = []  # as sent, once for each key
        self.keys: list[str] = []
        self.answers, self.verdicts = threading.Event(), threading.Event()  # set: they come
        self.go_on()
        self.refused: dict[str, str] = {}  # code → message
        self.limits: list[tuple[int, dict[str, Any]]] = []
        self.held = ""  # kernels with this text

    def go_on(self) -> None:
        self.answers.set()
        self.verdicts.set()

    @property
    def codes(self) -> list[str]:
        return [one["code"] for batch in self.batches for one in batch["candidates"]]

    def act(self, path: str, body: dict[str, Any], key: str) -> tuple[int, object]:
        if self.limits:
            return self.limits.pop(0)
        if path != "/batches":
            return 200, {}
        for place, one in enumerate(body["candidates"]):
            if one["code"] in self.refused:
                field = {"field": f"candidates.{place}.code", "message": self.refused[one["code"]]}
                return 400, {"detail": "refused", "errors": [field]}
        if key not in self.keys:
            self.keys.append(key)
            self.batches.append(body)
        self.answers.wait(20)
        return 201, {"id": 1 + self.keys.index(key)}

    def get(self, path: str, query: dict[str, list[str]]) -> tuple[int, object] | None:
        parts = path.split("/")
        if parts[1] == "submissions" and parts[-1] == "feedback":
            return 200, f"Feedback on {parts[2]}."
        if parts[1] != "batches":
            return None
        number = int(parts[2])
        found = self.batches[number - 1]["candidates"]
        if parts[-1] == "feedback":
            self.verdicts.wait(1)
            after = int(query["after"][0]) if self.verdicts.is_set() else len(found)
            return 200, [self.feedback(number, place, one["code"]) for place, one in enumerate(found, 1)][after:][:2]
        settled = "2026-01-01T00:00:00Z" if self.verdicts.is_set() else None
        return 200, {"id": number, "settled_at": settled, "arrived": len(found), "spent_s": 2.0 * len(found)}

    def feedback(self, batch: int, place: int, code: str) -> dict[str, Any]:
        about = {"submission": 100 * batch + place, "candidate": place, "arrival": place, "status": "done"}
        held = [{"rule": "clock_mismatch"}] if self.held and self.held in code else []
        found = RATIO.search(code)
        ratio = float(found.group(1)) if found else None
        outcome = "passed" if found else "wrong"
        return {"about": about, "outcome": outcome, "reason": "", "ratio": ratio, "half_width": 0.01, "held_by": held}


@pytest.fixture
def judging(site: FakeSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Judging:
    found, usual = Judging(), site.get
    site.act = found.act
    site.boards = [BOARD]
    site.problem = {"board": "softmax", "hardware": "cpu", "digest": "d1", "problem": {"submission_name": "s.py"}}
    site.quota = []
    monkeypatch.setattr(site, "get", lambda path, query: found.get(path, query) or usual(path, query))
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def proposer(tmp_path: Path) -> str:
    """A command that gives an idea for a faster kernel, and that kernel: a tenth faster than its parent."""
    script = tmp_path / "proposer.py"
    script.write_text(
        "import json, os, sys\n"
        "asked = json.load(sys.stdin)\n"
        "open('asked.jsonl', 'a').write(json.dumps(asked) + '\\n')\n"
        "best = max([one['speedup'] for one in asked['parents']] + [0.25])\n"
        "for n in range(asked['count']):\n"
        "    name = os.urandom(4).hex()\n"
        "    code = f'def custom_kernel(data): return {name!r}  # ratio {1 / (best * 1.1 + n / 100):.4f}'\n"
        "    print(json.dumps({'idea': f'idea {name}'} if asked['want'] == 'ideas' else {'code': code}))\n"
    )
    return f"{sys.executable} {script}"


def asked() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]


def journal(folder: str = "search-softmax-cpu") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(folder) / NAME).read_text().splitlines()]


@pytest.mark.parametrize("strategy", ["evolve", "beam", "refine", "samples"])
def test_search_finds_faster_kernels_round_by_round(
    photofinish: Photofinish, proposer: str, judging: Judging, strategy: str
) -> None:
    ended = photofinish(
        *("search", "softmax", "--proposer", proposer, "--strategy", strategy, "--per-round", "4", "--json")
    )
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["rounds"], found["candidates"], found["outcomes"]) == (5, 20, {"passed": 20})
    assert found["device_s"] == 40.0
    assert len(judging.batches) == 5
    assert judging.batches[0]["budget_s"] == 1_800.0
    assert judging.batches[1]["budget_s"] == 1_792.0
    assert "bar" not in judging.batches[0], "no kernel is known yet"
    assert judging.batches[1]["bar"] == found["by_round"][0]["best_ratio"]
    ratios = [one["best_ratio"] for one in found["by_round"]]
    assert ratios == sorted(ratios, reverse=True)
    if strategy != "samples":
        assert ratios[-1] < ratios[0] / 1.3, "each round goes on from the last"
        parents = [one["lineage"].get("parents") for one in judging.batches[-1]["candidates"]]
        assert any(parents)
    best = Path("search-softmax-cpu/best.py").read_text()
    assert float(RATIO.search(best).group(1)) == pytest.approx(ratios[-1])  # type: ignore[union-attr]
    report = Path("search-softmax-cpu/report.md").read_text()
    assert f"Best: candidate {found['best'][0]['candidate']}" in report
    assert "Round 5 is done." in ended.err
    assert judging.batches[0]["candidates"][0]["lineage"]["run"].startswith("search-")


def test_questions_have_problem_ideas_parents_and_feedback(photofinish: Photofinish, proposer: str) -> None:
    Path("vector.py").write_text("known = 'good'\n")
    photofinish("search", "softmax", "--proposer", proposer, "--rounds", "2", "--bank", "vector.py")
    first, last = asked()[0], asked()[-1]
    assert "Turn rows into probabilities." in first["prompt"]
    assert first["reference"] == BOARD["reference"]
    assert any("known = 'good'" in one["prompt"] for one in asked())
    ideas = next(one for one in asked() if one["want"] == "ideas" and one["parents"])
    assert "Ideas that were tried" in ideas["prompt"]
    assert re.search(r"- idea \w+ \(0\.\d+ times as fast as the baseline\)", ideas["prompt"])
    assert "Feedback on 10" in ideas["prompt"]
    assert f"Realise this idea: {last['idea']}" in last["prompt"]


def test_start_kernels_are_judged_first(photofinish: Photofinish, proposer: str, judging: Judging) -> None:
    Path("mine.py").write_text("mine = 1  # ratio 3.0\n")
    ended = photofinish(
        *("search", "softmax", "--proposer", proposer, "--rounds", "1", "--start", "mine.py", "--strategy", "beam")
    )
    assert ended.code == 0
    assert [one["code"] for one in judging.batches[0]["candidates"]] == ["mine = 1  # ratio 3.0\n"]
    assert asked()[0]["parents"][0]["code"] == "mine = 1  # ratio 3.0\n"


def test_search_ends_at_its_budgets(photofinish: Photofinish, proposer: str, judging: Judging) -> None:
    common = ("search", "softmax", "--proposer", proposer, "--per-round", "4")
    ended = photofinish(*common, "--candidates", "6")
    assert "all 6 candidates are sent" in ended.err
    assert len(judging.codes) == 6
    ended = photofinish(*common, "--candidates", "64", "--budget", "21")
    assert "goes on in round 3" in ended.err
    assert "of 21 device seconds are used" in ended.err
    assert judging.batches[-1]["budget_s"] <= 21
    ended = photofinish(*common, "--time", "1", "--into", "short", "--rounds", "900", "--candidates", "9999")
    assert "its time of 1 s is over" in ended.err


def test_quota_bounds_a_round_and_a_limit_is_waited_for(
    site: FakeSite, photofinish: Photofinish, proposer: str, judging: Judging
) -> None:
    row = {"board": "softmax", "hardware": "cpu", "mode": "benchmark", "capacity": 9, "per_day": 9, "next_at": None}
    site.quota = [{**row, "left": 3}]
    judging.limits = [(429, {"detail": "too many", "code": "rate_limited"})]
    assert photofinish("search", "softmax", "--proposer", proposer, "--rounds", "1", "--time", "20").code == 4
    assert judging.codes == []
    ended = photofinish("search", "softmax", "--proposer", proposer, "--rounds", "1", "--time", "60")
    assert ended.code == 0
    assert len(judging.codes) == 3


@pytest.mark.parametrize(("status", "code", "field"), [(400, "invalid", "candidates"), (429, "quota_used_up", "mode")])
def test_batch_beyond_quota_or_rate_is_sent_in_parts(
    site: FakeSite, photofinish: Photofinish, proposer: str, judging: Judging, status: int, code: str, field: str
) -> None:
    def act(path: str, body: dict[str, Any], key: str) -> tuple[int, object]:
        if path == "/batches" and len(body["candidates"]) > 2:
            errors = [{"field": field, "message": "too many"}]
            return status, {"detail": f"{field}: too many", "code": code, "errors": errors}
        return judging.act(path, body, key)

    site.act = act
    for number in range(5):
        Path(f"{number}.py").write_text(f"mine = {number}  # ratio 3.{number}\n")
    starts = [word for number in range(5) for word in ("--start", f"{number}.py")]
    common = ("search", "softmax", "--proposer", proposer, "--rounds", "1", "--per-round", "4", "--time", "25")
    ended = photofinish(*common, *starts)
    assert ended.code == 0, ended.err
    assert [len(batch["candidates"]) for batch in judging.batches] == [2, 2, 1, 2, 2]
    assert "too many" in ended.err
    assert "The search sends 2 at once." in ended.err


def test_search_ends_without_a_place_in_the_quota(
    site: FakeSite, photofinish: Photofinish, proposer: str, judging: Judging
) -> None:
    spent = {"detail": "mode: none left", "code": "quota_used_up"}
    judging.limits = [(429, spent)] * 3
    common = ("search", "softmax", "--proposer", proposer, "--rounds", "1", "--per-round", "4")
    ended = photofinish(*common, "--time", "25")
    assert ended.code == 4, ended.err
    assert "The search sends 1 at once." in ended.err
    assert photofinish(*common).code == 0
    assert [len(batch["candidates"]) for batch in judging.batches] == [4]


def test_copies_and_refused_kernels_are_not_sent(photofinish: Photofinish, judging: Judging, tmp_path: Path) -> None:
    lines = ["a = 1  # ratio 2.0", "# a comment\na = 1   # ratio 2.0\n", "b = 2", "c = 3"]
    judging.refused = {"b = 2": "too odd"}
    script = tmp_path / "p.py"
    script.write_text(f"import json\nfor one in {lines!r}: print(json.dumps({{'code': one}}))")
    ended = photofinish(
        *("search", "softmax", "--proposer", f"{sys.executable} {script}", "--strategy", "samples", "--json")
    )
    assert ended.code == 3, "every round after the first has copies alone"
    assert judging.codes == ["a = 1  # ratio 2.0", "c = 3"]
    assert "Candidate 2 is not sent: the same as candidate 1." in ended.err
    assert "Candidate 3 is not sent: the site refuses it: too odd." in ended.err
    assert "3 rounds had no new kernel; the last fault: every kernel was tried before" in ended.err


def test_held_kernels_are_no_parents_and_not_the_best(
    photofinish: Photofinish, proposer: str, judging: Judging
) -> None:
    judging.held = "custom_kernel"
    ended = photofinish("search", "softmax", "--proposer", proposer, "--rounds", "2")
    assert ended.code == 1
    assert "held by clock_mismatch" in ended.err
    assert "No kernel was correct, timed and free of findings." in ended.out
    assert not any(one["parents"] for one in asked())


def test_endpoint_searches_with_a_key_that_is_written_nowhere(
    photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPOSER_API_KEY", KEY)

    def script(prompt: str, number: int) -> Any:
        if "Name " in prompt:
            return f"- idea \x1b[2J {number} {KEY}"
        return f"```\nx = {number}  # ratio {1 / number:.3f}\n# {KEY}\n```"

    with chat_server(script) as server:
        common = ("search", "softmax", "--rounds", "2", "--per-round", "4", "--proposer")
        ended = photofinish(*common, server.url, "--model", "m", "--temperature", "0.7")
        assert ended.code == 0, ended.err
        assert set(server.keys) == {f"Bearer {KEY}"}
        monkeypatch.delenv("PROPOSER_API_KEY")
        server.script = lambda prompt, number: (401, {}, {})
        refused = photofinish(*common, server.url, "--model", "m", "--into", "new")
    assert refused.code == 2
    assert "refuses the key (401); set PROPOSER_API_KEY" in refused.err
    texts = [path.read_text() for path in Path("search-softmax-cpu").iterdir()]
    assert not any(KEY in text for text in [*texts, ended.out, ended.err])
    assert "\x1b" not in ended.err + ended.out
    assert "tokens" in texts[0] + texts[1] + texts[2]


def test_tokens_and_dollars_count_every_answer(photofinish: Photofinish) -> None:
    def script(prompt: str, number: int) -> Any:
        if "Name " in prompt:
            return f"- idea {number}"
        return "I write no code." if number % 2 else f"```\nx = {number}  # ratio 0.9\n```"

    common = ("search", "softmax", "--per-round", "4", "--at-once", "1", "--model", "m", "--json", "--proposer")
    with chat_server(script) as server:
        found = json.loads(photofinish(*common, server.url, "--rounds", "2").out)
        asked = len(server.requests)
    assert found["faults"] > 0
    assert found["tokens"] == 110 * asked
    assert found["cost_usd"] == pytest.approx(0.001 * asked)
    # A journal of an earlier version names usage and cost with each kernel alone.
    earlier = [{name: one[name] for name in one if name not in ("tokens", "cost_usd")} for one in journal()]
    (Path("search-softmax-cpu") / NAME).write_text("".join(json.dumps(one) + "\n" for one in earlier))
    again = json.loads(photofinish(*common, server.url, "--rounds", "2").out)
    assert again["tokens"] == 110 * sum(len(one["kernels"]) for one in earlier if one["kind"] == "answer")
    assert {**again, "tokens": 0, "cost_usd": 0} == {**found, "tokens": 0, "cost_usd": 0}


def test_wrong_use_of_search_is_explained(photofinish: Photofinish, proposer: str) -> None:
    assert "proposer: missing" in photofinish("search", "softmax").err
    assert (
        "strategy: 'x' is not one of evolve"
        in photofinish("search", "softmax", "--proposer", proposer, "--strategy", "x").err
    )
    assert "mode: 'test' is not one of" in photofinish("search", "softmax", "--proposer", "x", "--mode", "test").err
    assert "board: 'soft' is not known" in photofinish("search", "soft", "--proposer", proposer).err
    assert "bank: " in photofinish("search", "softmax", "--proposer", proposer, "--bank", ".").err


def test_search_of_other_settings_is_not_continued(site: FakeSite, photofinish: Photofinish, proposer: str) -> None:
    common = ("search", "softmax", "--proposer", proposer, "--rounds", "1", "--per-round", "2")
    assert photofinish(*common).code == 0
    assert (
        "strategy: the search of search-softmax-cpu has 'evolve' and not 'beam'"
        in photofinish(*common, "--strategy", "beam").err
    )
    site.problem["digest"] = "d2"
    assert "digest: the search of search-softmax-cpu has 'd1' and not 'd2'" in photofinish(*common).err


def test_bank_has_the_best_kernels_of_another_search(photofinish: Photofinish, proposer: str) -> None:
    common = ("search", "softmax", "--proposer", proposer, "--rounds", "1", "--per-round", "2", "--into")
    photofinish(*common, "first")
    best = Path("first/best.py").read_text()
    Path("asked.jsonl").unlink()
    photofinish(*common, "second", "--bank", "first")
    assert all(best in [one["code"] for one in question["bank"]] for question in asked())
    assert asked()[0]["bank"][0]["name"] == "softmax on cpu"


def test_bank_has_the_parents_of_a_board(site: FakeSite, photofinish: Photofinish, proposer: str) -> None:
    site.boards = [BOARD, {**BOARD, "slug": "layernorm"}]
    site.more["/boards/layernorm/cpu/parents"] = [{"code": "norm = 1", "ratio": 0.5, "submission": 3}]
    common = ("search", "softmax", "--proposer", proposer, "--rounds", "1", "--per-round", "2")
    assert photofinish(*common, "--bank", "layernorm").code == 0
    assert asked()[0]["bank"] == [{"name": "layernorm on cpu", "speedup": 2.0, "code": "norm = 1"}]
    assert "layernorm on cpu (2 times as fast as the baseline):" in asked()[0]["prompt"]
    unknown = photofinish(*common, "--into", "new", "--bank", "nowhere")
    assert "board: 'nowhere' is not known" in unknown.err


def test_live_view_on_a_terminal_has_state_and_best_kernels(terminal: Terminal, proposer: str) -> None:
    code, seen = terminal(120, "search", "softmax", "--proposer", proposer, "--rounds", "2", "--per-round", "2")
    assert code == 0, seen
    assert "device seconds" in seen
    assert "speedup" in seen
    assert "# Search for softmax on cpu" in seen


def test_live_view_reads_a_state_in_the_thread_of_its_search_alone() -> None:
    readers = set[threading.Thread]()

    class Candidates(dict[int, Candidate]):
        def values(self) -> Any:
            readers.add(threading.current_thread())
            return super().values()

    screen, drawn = Screen(), io.StringIO()
    screen.err = Console(file=drawn, force_terminal=True)
    with _view(screen, False) as tell:
        tell(State(candidates=Candidates()), "news of the search")
        await_that(lambda: drawn.getvalue().count("news of the search") >= 2)
    assert readers == {threading.current_thread()}


def test_summary_of_many_rounds_is_linear() -> None:
    def took(rounds: int) -> float:
        state = State(candidates={number: Candidate(number, number, "x = 1") for number in range(rounds)})
        began = time.process_time()
        assert len(summary(state)["by_round"]) == rounds
        return time.process_time() - began

    # Work that grows with the square takes 16 times as long.
    assert min(took(4_000) for _ in range(3)) < 8 * min(took(1_000) for _ in range(3)) + 0.01


# -- kills -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def started(proposer: str) -> Iterator[Any]:
    processes = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "leaderboard.cli.start", "search", "softmax", "--proposer", proposer]
        command += ["--per-round", "4", "--rounds", "3", "--json"]
        process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def await_that(true: Any) -> None:
    give_up_at = time.monotonic() + 20
    while not true():
        assert time.monotonic() < give_up_at, "what the test waits for did not happen"
        time.sleep(0.02)


@pytest.mark.parametrize("moment", ["answer", "batch", "sent", "verdict"])
def test_killed_search_goes_on_and_sends_nothing_twice(started: Any, judging: Judging, moment: str) -> None:
    """Kill after the first record of each kind: between questions, before the site's answer, while it judges."""
    path = Path("search-softmax-cpu") / NAME
    {"batch": judging.answers, "sent": judging.verdicts}.get(moment, threading.Event()).clear()
    first = started()
    await_that(lambda: path.exists() and f'"kind": "{moment}"' in path.read_text())
    if moment == "batch":
        await_that(lambda: judging.batches)
    first.send_signal(signal.SIGKILL)
    first.wait()
    with path.open("ab") as file:
        file.write(b'{"kind": "verdict", "numb')
    judging.go_on()
    second = started()
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    found = json.loads(out)
    assert (found["rounds"], found["candidates"]) == (3, 12)
    assert len(judging.codes) == len(set(judging.codes)) == 12
    verdicts = [one["number"] for one in journal() if one["kind"] == "verdict"]
    assert sorted(verdicts) == list(range(1, 13))
    questions = [one["question"] for one in journal() if one["kind"] == "answer"]
    assert len(questions) == len(set(questions))


def test_round_goes_on_as_it_was_planned(photofinish: Photofinish, proposer: str, judging: Judging) -> None:
    common = ("search", "softmax", "--proposer", proposer, "--per-round", "4", "--rounds", "1")
    assert photofinish(*common).code == 0
    path = Path("search-softmax-cpu") / NAME
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[: next(n for n, one in enumerate(kept, 1) if '"kind": "answer"' in one)]))
    judging.batches.clear()
    judging.keys.clear()
    assert photofinish(*common[:-4], "--per-round", "9", "--realisations", "4", "--rounds", "1").code == 0
    assert len(judging.codes) == 4
    [plan] = [one for one in journal() if one["kind"] == "plan"]
    assert (plan["kernels"], plan["realisations"]) == (4, 2)


def test_interrupted_search_says_how_to_go_on(started: Any, judging: Judging) -> None:
    judging.answers.clear()
    process = started()
    await_that(lambda: judging.batches)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "The same command goes on; search-softmax-cpu has the state." in err
    assert "Traceback" not in err
    judging.go_on()
    assert started().wait(60) == 0
    assert len(judging.codes) == len(set(judging.codes))


def test_batch_with_a_lost_answer_is_repeated_after_a_refusal(
    site: FakeSite, photofinish: Photofinish, proposer: str, judging: Judging
) -> None:
    """The first try is taken without an answer; the second is refused before the site looks at the key."""
    common = ("search", "softmax", "--proposer", proposer, "--per-round", "4", "--rounds", "1")
    keys: list[str] = []

    def act(path: str, body: dict[str, Any], key: str) -> tuple[int, object]:
        keys.append(key)
        if len(keys) == 2:
            return 401, {"detail": "expired", "code": "token_invalid"}
        answer = judging.act(path, body, key)
        return answer if len(keys) > 1 else (502, "")

    site.act = act
    assert "expired" in photofinish(*common).err
    assert photofinish(*common).code == 0
    assert (len(keys), len(set(keys)), len(judging.batches)) == (3, 1, 1)


def test_batch_without_an_answer_for_a_day_is_not_sent_again(started: Any, judging: Judging) -> None:
    judging.answers.clear()
    process = started()
    await_that(lambda: judging.batches)
    process.kill()
    process.wait()
    path = Path("search-softmax-cpu") / NAME
    records = journal()
    for record in records:
        if record["kind"] == "batch":
            record["at"] -= 86_400
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    judging.go_on()
    again = started()
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0
    assert "it was perhaps sent a day ago, and has no answer" in err
    assert len(judging.codes) == len(set(judging.codes))
