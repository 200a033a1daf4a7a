"""A host becomes a runner by a one-time code and the doctor's lines; retired, it keeps only its history."""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from leaderboard.accounts.tokens import digest_of
from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.judging.enrolment import make_code, open_codes, redeem, withdraw_code
from leaderboard.judging.models import Enrolment, Runner
from leaderboard.judging.runners import find_runner, retire, revoke
from leaderboard.pipeline import claim_work
from leaderboard.web import limits
from runner import wire
from runner.host import doctor
from tests.leaderboard.stage import NOON, Stage

TOKEN = "pfr_" + "t" * 43
FIT = ({"name": "device", "result": "ok", "found": "cpu"}, {"name": "swap", "result": "warning", "found": "on"})


def asked(code: str, *, token: str = TOKEN, **changes: Any) -> dict[str, Any]:
    sent = {"wire": 1, "code": code, "hardware": "cpu", "checks": FIT}
    return sent | {"token_prefix": token[:10], "token_digest": digest_of(token)} | changes


def enrol(sent: dict[str, Any]) -> HttpResponse:
    return Client().post("/api/runner/v1/enrol", data=json.dumps(sent), content_type="application/json")


def refusal(answer: HttpResponse, status: int) -> str:
    assert answer.status_code == status
    detail = json.loads(answer.content)["detail"]
    assert isinstance(detail, str)
    return detail


@pytest.fixture
def code(stage: Stage) -> str:
    return make_code(name="tex", hardware="cpu", actor=stage.olga, now=timezone.now())[1]


def test_code_makes_one_runner_whose_token_the_site_never_saw(stage: Stage, code: str) -> None:
    assert code not in str(Enrolment.objects.values())
    assert json.loads(enrol(asked(code)).content) == {"runner": "tex", "hardware": "cpu"}
    tex = find_runner(TOKEN, now=timezone.now())
    assert tex is not None
    assert (tex.name, tex.token_prefix, tex.enrolment.created_by) == ("tex", TOKEN[:10], stage.olga)
    assert [line["name"] for line in tex.enrolment.checks] == ["device", "swap"]
    assert Row.objects.get(act="enrol_runner").actor_id == stage.olga.pk
    stage.submit()
    assert claim_work(runner=tex, now=stage.now) is not None


def test_repeated_enrolment_answers_the_same_and_another_token_is_refused(code: str) -> None:
    first, again = enrol(asked(code)), enrol(asked(code))
    assert first.content == again.content
    assert "used for runner tex already" in refusal(enrol(asked(code, token="pfr_" + "u" * 43)), 403)
    assert Runner.objects.filter(name="tex").count() == 1


@pytest.mark.parametrize(
    ("change", "status", "problem"),
    [
        ({"code": "pfe_guess"}, 403, "knows no such code"),
        ({"hardware": "H200"}, 403, "this code is for hardware cpu; set RUNNER_HARDWARE"),
        ({"checks": []}, 400, "the doctor's lines are missing"),
        ({"checks": [{"name": "swap", "result": "unfit"}]}, 400, "the doctor found this host unfit: swap"),
        ({"token_digest": "short"}, 400, "expected a SHA-256 digest"),
        ({"token_prefix": "pf_abcdef"}, 400, "expected the first characters of a token"),
        ({"wire": 2}, 400, "this side speaks version 1, got 2"),
        ({"checks": [{"name": "x", "result": "ok"}] * 65}, 400, "65 items, at most 64"),
    ],
)
def test_refused_enrolment_names_the_way_out_and_leaves_the_code(
    code: str, change: dict[str, Any], status: int, problem: str
) -> None:
    assert problem in refusal(enrol(asked(code) | change), status)
    assert enrol(asked(code)).status_code == 200


def test_expired_and_withdrawn_codes_are_refused(stage: Stage, code: str) -> None:
    Enrolment.objects.update(expires_at=NOON)
    assert "it expired at 2026-11-20 12:00 UTC" in refusal(enrol(asked(code)), 403)
    other, text = make_code(name="max", hardware="cpu", actor=stage.olga, now=timezone.now())
    withdraw_code(code=other, actor=stage.olga, now=timezone.now())
    assert "expired" in refusal(enrol(asked(text)), 403)
    with pytest.raises(UserError, match="expired already"):
        withdraw_code(code=other, actor=stage.olga, now=timezone.now())


def test_guesses_at_codes_are_limited_by_address(db: None) -> None:
    for _ in range(limits.ENROL_IP.most):
        refusal(enrol(asked("pfe_guess")), 403)
    answer = enrol(asked("pfe_guess"))
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0


def test_make_code_refuses_taken_names_and_wrong_lives(stage: Stage, code: str) -> None:
    for told, problem in (
        ({"name": "rex"}, "there is a runner of this name"),
        ({"name": "tex"}, "there is an open code for this name"),
        ({"name": "a b"}, "use letters"),
        ({"name": "max", "lasts": timedelta(days=8)}, "expected 1 to 10,080"),
    ):
        with pytest.raises(UserError, match=problem):
            make_code(**{"hardware": "cpu", "actor": stage.olga, "now": timezone.now()} | told)
    with pytest.raises(UserError, match="only an organiser may enrol hosts"):
        make_code(name="max", hardware="cpu", actor=stage.ada, now=timezone.now())


def test_two_hosts_with_one_code_make_one_runner(live_stage: Stage) -> None:
    _, text = make_code(name="tex", hardware="cpu", actor=None, now=live_stage.now)
    start, got = threading.Barrier(2), []

    def use(token: str) -> None:
        start.wait(20)
        try:
            request = wire.Enrolment.from_json(asked(text, token=token))
            got.append(redeem(asked=request, now=live_stage.now).token_prefix)
        except UserError as error:
            got.append(error.status)
        finally:
            connection.close()

    threads = [threading.Thread(target=use, args=("pfr_" + letter * 43,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert 403 in got
    assert len(got) == 2
    assert Runner.objects.filter(name="tex").count() == 1


def test_doctor_and_wire_agree_about_fit_results() -> None:
    assert (doctor.OK, doctor.WARNING) == wire.FIT
    assert not {doctor.UNFIT, doctor.NOT_CERTIFIED} & {*wire.FIT}


def test_retired_runner_keeps_its_history_and_its_token_is_dead(stage: Stage, code: str) -> None:
    enrol(asked(code))
    tex = Runner.objects.get(name="tex")
    submission = stage.submit()
    stage.claim(tex)
    with pytest.raises(UserError, match="still judges"):
        retire(runner=tex, actor=stage.olga, reason="sold", now=stage.now)
    attempt = submission.attempts.get()
    stage.report(attempt.job(), runner=tex)
    retire(runner=tex, actor=stage.olga, reason="sold", now=stage.now)
    tex.refresh_from_db()
    assert (tex.standing, tex.revoked_reason) == ("retired", "sold")
    assert submission.attempts.get().runner == tex
    answer = Client(headers={"authorization": f"Bearer {TOKEN}"}).post("/api/runner/v1/claim")
    assert "was revoked" in refusal(answer, 401)
    with pytest.raises(UserError, match="is retired already"):
        retire(runner=tex, actor=None, reason="again", now=stage.now)
    with pytest.raises(UserError, match="there is a runner of this name"):
        make_code(name="tex", hardware="cpu", actor=None, now=stage.now)


def test_revoked_runner_can_be_retired_and_keeps_the_first_reason(stage: Stage) -> None:
    revoke(runner=stage.rex, actor=None, reason="stolen", now=stage.now)
    retire(runner=stage.rex, actor=None, reason="gone", now=stage.later(60))
    stage.rex.refresh_from_db()
    assert (stage.rex.standing, stage.rex.revoked_at, stage.rex.revoked_reason) == ("retired", NOON, "stolen")


def test_commands_make_a_code_drain_and_retire(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("make_enrol_code", "tex", hardware="cpu")
    assert enrol(asked(capsys.readouterr().out.strip())).status_code == 200
    with pytest.raises(CommandError, match="expected 1 to"):
        call_command("make_enrol_code", "max", hardware="cpu", minutes=0)
    call_command("drain_runner", "rex", reason="a new driver")
    assert Runner.objects.get(name="rex").standing == "draining"
    call_command("drain_runner", "rex", reason="it is in", off=True)
    assert Runner.objects.get(name="rex").standing == ""
    assert [row.reason for row in Row.objects.filter(act__endswith="drain_runner")] == ["it is in", "a new driver"]
    call_command("retire_runner", "rex", reason="sold")
    assert Runner.objects.get(name="rex").standing == "retired"
    assert open_codes(timezone.now()) == []
