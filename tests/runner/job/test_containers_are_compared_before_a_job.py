"""Containers to be timed side by side are compared before foreign code enters them; a single container is not."""

import os
import secrets
from collections.abc import Mapping
from typing import Any

import pytest

from runner import config
from runner.evidence.schedule import A, B, I
from runner.job import prepare
from runner.judge.sides import tenant
from runner.judge.sides.tenant import OwnCalls, Tenant

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def judge_settings() -> config.JudgeSettings:
    image = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
    owner = f"compared{secrets.token_hex(6)}"
    return config.load_judge().model_copy(update={"runner_id": owner, "sandbox_image": image})


def test_each_set_of_sides_is_compared_once_and_again_when_it_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []

    def compared(sides: Mapping[str, Tenant], *, few: bool) -> OwnCalls:
        assert not few, "a result of theirs may rank"
        assert all(side._connection is not None for side in sides.values()), "no job is in any of them"
        asked.append(set(sides))
        return OwnCalls({name: [[len(asked)]] for name in sides})  # type: ignore[list-item]

    monkeypatch.setattr(tenant, "own_calls", compared)
    with prepare.prepared(judge_settings(), (B,)) as ready:
        assert (asked, ready.own_calls) == ([], OwnCalls())
        ready.add_side(A)
        assert (asked, set(ready.own_calls.own_calls)) == ([{A, B}], {A, B})
        ready.add_side(I)
        assert (asked[1:], set(ready.own_calls.own_calls)) == ([{A, B, I}], {A, B, I})
        assert ready.compared().own_calls == {name: [[2]] for name in (A, B, I)}, "a moment ago"
        monkeypatch.setattr(prepare, "COMPARED_S", 0.0)
        assert ready.compared().own_calls == {name: [[3]] for name in (A, B, I)}, "they have waited"


def test_all_sides_of_a_set_draw_contexts_like_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[tuple[Tenant, bool, Tenant | None]] = []
    connect = Tenant.connect

    def drawn(side: Tenant, *, draws: bool = False, like: Tenant | None = None, **options: Any) -> None:
        connect(side, draws=draws, like=like, **options)
        connected.append((side, draws, like))
        side.launches = [(2.0, 1.0)] if draws else []

    monkeypatch.setattr(Tenant, "connect", drawn)
    with prepare.prepared(judge_settings(), (B, A)) as ready:
        ready.add_side(I)
        first = connected[0][0]
        assert connected == [
            (first, True, None),
            (next(side for side in ready.sides.values() if side is not first), True, first),
            (ready.sides[I], True, next(iter(ready.sides.values()))),
        ]
        assert ready.launches == {name: [(2.0, 1.0)] for name in (A, B, I)}
    connected.clear()
    with prepare.prepared(judge_settings(), (B,)) as ready:
        ready.add_side(A)
        assert [draws for _, draws, _ in connected] == [False, False], "the first has no times to be like"


def test_beside_a_baseline_of_long_calls_none_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []

    def compared(sides: Mapping[str, Tenant], *, few: bool) -> OwnCalls:
        asked.append(set(sides))
        return OwnCalls({name: [[len(asked)]] for name in sides})  # type: ignore[list-item]

    monkeypatch.setattr(tenant, "own_calls", compared)
    monkeypatch.setattr(prepare, "COMPARED_S", 0.0)
    monkeypatch.setattr(Tenant, "begin_anew", lambda side: bool(side.baseline_of))
    with prepare.prepared(judge_settings(), (B, A)) as ready:

        def renew(long_problem: str, *, stays: bool, had_job: bool = True) -> list[set[str]]:
            """Renew it after a job of the problem "first"; return how often which sides were compared. `had_job`: its
            baseline was loaded."""
            asked.clear()
            ready.sides[B].had_job, ready.sides[A].had_job = True, had_job
            ready.sides[A].baseline_of = "first" if stays else ""
            ready.oracle.problem, ready.long_problem = "first", long_problem
            ready.renew(timed=True)
            return [*asked]

        assert renew("first", stays=True) == []
        assert ready.compared().own_calls == {A: [[1]]}, "of the first comparison, and none is due"
        assert renew("another", stays=True) == [{A, B}]
        assert renew("first", stays=False) == [{A, B}], "the baseline is new"
        assert renew("first", stays=False, had_job=False) == [{A, B}], "the next job may be of another problem"
        assert set(ready.compared().own_calls) == {A, B}
