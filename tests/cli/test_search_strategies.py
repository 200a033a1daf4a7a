"""Strategies, archive and journal of a search."""

import json
from pathlib import Path
from random import Random

import pytest

from leaderboard.client import Misuse
from leaderboard.client.search import STRATEGIES, Candidate, Journal, Verdict
from leaderboard.client.search.archive import digest, diverse, ideas, similarity
from leaderboard.client.search.journal import NAME
from leaderboard.client.search.strategies import Plan

PLAN = Plan(kernels=8, realisations=2)


def code(seed: int, size: int = 60) -> str:
    random = Random(seed)
    return "\n".join(f"x{random.randrange(50)} = y{random.randrange(50)} + {random.randrange(9)}" for _ in range(size))


def candidate(
    number: int, ratio: float | None = None, *, source: str = "", outcome: str = "passed", **changes: object
) -> Candidate:
    verdict = Verdict(submission=100 + number, outcome=outcome, ratio=ratio)
    one = Candidate(number, 1, source or code(number), verdict=verdict)
    for name, value in changes.items():
        setattr(one, name, value)
    return one


def test_digest_ignores_blanks_and_comment_lines_but_no_indentation_and_no_preprocessor() -> None:
    assert digest("a = 1  \n# why\n\nb = 2\n") == digest("a  =  1\nb = 2")
    assert digest("x = (n\n  // 4\n)") != digest("x = (n\n  // 8\n)"), "a division, not a comment"
    assert digest("if a:\n    b()\nc()") != digest("if a:\n    b()\n    c()")
    assert digest("#include <a>") != digest("#include <b>")


def test_archive_keeps_the_fastest_of_each_kind() -> None:
    slow_copy = candidate(1, 0.9, source=code(7) + "\nz = 1")
    fast, other = candidate(2, 0.5, source=code(7)), candidate(3, 0.7)
    wrong, held = candidate(4, outcome="wrong"), candidate(5, 0.1)
    held.verdict = Verdict(submission=105, outcome="passed", ratio=0.1, held_by=("faster_than_best",))
    assert similarity(slow_copy, fast) > 0.85 > similarity(fast, other)
    assert diverse([slow_copy, fast, other, wrong, held]) == [fast, other]
    assert diverse([slow_copy, fast, other], 1) == [fast]


def test_ideas_have_the_best_speedup_of_their_kernels() -> None:
    tried = [
        candidate(1, 2.0, idea="tile"),
        candidate(2, 0.5, idea="tile"),
        candidate(3, outcome="wrong", idea="skip"),
        candidate(4, 1.0),
    ]
    assert [(one.text, one.speedup, one.outcome) for one in ideas(tried)] == [
        ("tile", 2.0, "passed"),
        ("skip", 0.0, "wrong"),
    ]


def test_samples_have_no_parents() -> None:
    [branch] = STRATEGIES["samples"].branches([candidate(1, 0.5)], PLAN, Random(0))
    assert (branch.parents, branch.ideas, branch.kernels) == ((), 0, 8)


def test_refine_goes_on_from_the_last_wrong_kernel_until_one_is_correct() -> None:
    first = candidate(1, outcome="wrong")
    refine = STRATEGIES["refine"]
    tip, fresh = refine.branches([first], PLAN, Random(0))
    assert (tip.parents, tip.kernels, fresh.kernels) == ((first,), 1, 7)
    second = candidate(2, outcome="wrong", parents=(1,))
    assert refine.branches([first, second], PLAN, Random(0))[0].parents == (second,)
    third = candidate(3, 0.8, parents=(2,))
    slower = candidate(4, 0.9, parents=(3,))
    assert refine.branches([first, second, third, slower], PLAN, Random(0))[0].parents == (third,)


def test_beam_divides_a_round_among_the_fastest_kernels() -> None:
    assert [one.parents for one in STRATEGIES["beam"].branches([], PLAN, Random(0))] == [()]
    found = [candidate(number, number / 10) for number in range(1, 8)]
    branches = STRATEGIES["beam"].branches(found, PLAN, Random(0))
    assert [one.parents[0].number for one in branches] == [1, 2, 3, 4]
    assert [(one.ideas, one.kernels) for one in branches] == [(1, 2)] * 4


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("kernels", [1, 3, 8, 256])
def test_no_strategy_exceeds_its_plan_and_each_is_repeatable(name: str, kernels: int) -> None:
    found = [candidate(number, number / 10) for number in range(1, 6)]
    plan = Plan(kernels, 2)
    branches = STRATEGIES[name].branches(found, plan, Random("7/2"))
    assert sum(branch.kernels for branch in branches) == kernels
    assert all(branch.ideas <= branch.kernels for branch in branches)
    assert branches == STRATEGIES[name].branches(found, plan, Random("7/2"))


def test_evolution_crosses_unlike_kernels_and_begins_with_the_fastest() -> None:
    found = [candidate(number, number / 10) for number in range(1, 6)]
    branches = STRATEGIES["evolve"].branches(found, Plan(64, 1), Random(1))
    assert branches[0].parents == (found[0],)
    assert {len(branch.parents) for branch in branches} == {0, 1, 2}
    assert all(len(set(map(id, branch.parents))) == len(branch.parents) for branch in branches)


def test_journal_drops_a_torn_line_and_goes_on(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add({"kind": "search", "format": "search/1"})
        journal.add({"kind": "plan", "round": 1})
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"kind": "answer", "co')
    with Journal(tmp_path) as journal:
        assert [one["kind"] for one in journal.records] == ["search", "plan"]
        journal.add({"kind": "round"})
    kinds = [json.loads(line)["kind"] for line in (tmp_path / NAME).read_text().splitlines()]
    assert kinds == ["search", "plan", "round"]


def test_journal_names_a_damaged_line_and_belongs_to_one_process(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add({"kind": "search", "format": "search/1"})
        with pytest.raises(Misuse, match="another search writes to it"):
            Journal(tmp_path)
    (tmp_path / NAME).write_text('{"kind": "search", "format": "search/1"}\nnonsense\n')
    with pytest.raises(Misuse, match="line 2: is damaged"):
        Journal(tmp_path)
    (tmp_path / NAME).write_text('{"kind": "other"}\n')
    with pytest.raises(Misuse, match="is not a journal of a search"):
        Journal(tmp_path)
