"""Acts of a match: a prediction comes first, versions have reasons, each side sends its own, both publish."""

import threading

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, connection, transaction

from leaderboard.accounts.models import User
from leaderboard.competitions.models import CLOSED, Role
from leaderboard.entrants.enter import create_agent, entrant_of
from leaderboard.errors import RateLimited, UserError
from leaderboard.matches import acts
from leaderboard.matches.acts import Exchange
from leaderboard.matches.models import HUMAN, MACHINE, Match, Prediction, Version
from leaderboard.matches.permissions import gallery, matches_of, matches_seen_by
from leaderboard.standings.models import Entry
from leaderboard.submissions.intake import Upload
from tests.leaderboard.stage import SOURCE, Stage, make_board

WHY = "Each row is read once and written once, so bandwidth is the limit."


def opened(stage: Stage, opener: User | None = None, **told: object) -> Match:
    given = {"board": stage.board, "opener": opener or stage.ada, "model": "acme/coder-7b", "machine": "pasted"}
    return acts.open_match(**(given | told), now=stage.later(1))  # type: ignore[arg-type]


def predicted(stage: Stage, match: Match, **told: object) -> Prediction:
    given = {"author": stage.ada, "bound": "memory", "speedup": 2.0, "why": WHY}
    return acts.predict(match=match, **(given | told), now=stage.later(1))  # type: ignore[arg-type]


def upload(stage: Stage) -> Upload:
    stage.sent += 1
    return Upload(
        board="", hardware="", mode="ranked", filename="kernel.py", data=SOURCE + f"N = {stage.sent}".encode()
    )


def sent(stage: Stage, match: Match, reason: str = "", expected: float | None = None, **told: object) -> Version:
    given = {"author": stage.ada, "upload": upload(stage), "reason": reason, "expected": expected}
    return acts.send_version(match=match, **(given | told), now=stage.later(1))  # type: ignore[arg-type]


def answered(stage: Stage, match: Match, operator: User | None = None, **told: object) -> Version:
    exchange = Exchange(**({"prompt": "Write a kernel.", "answer": "```\ncode\n```", "turn": 1} | told))  # type: ignore[arg-type]
    return acts.send_answer(
        match=match, upload=upload(stage), operator=operator or stage.ada, exchange=exchange, now=stage.later(1)
    )


def test_match_is_opened_for_the_openers_own_entrant(stage: Stage) -> None:
    match = opened(stage)
    assert match.human == entrant_of(stage.ada, stage.board.competition)
    assert (match.operator, match.is_public, match.closed_at) == (stage.ada, False, None)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"model": "two words"}, "model"), ({"model": ""}, "model"), ({"machine": "magic"}, "machine")],
)
def test_match_with_a_wrong_field_is_refused(stage: Stage, wrong: dict[str, str], field: str) -> None:
    with pytest.raises(UserError) as caught:
        opened(stage, **wrong)
    assert caught.value.field == field


def test_match_on_an_unseen_board_does_not_exist(stage: Stage) -> None:
    stage.board.competition.visibility = CLOSED
    stage.board.competition.save()
    with pytest.raises(UserError, match="no such board") as caught:
        opened(stage)
    assert caught.value.status == 404


def test_agent_is_no_human_side(stage: Stage) -> None:
    agent = create_agent(owner=stage.ada, name="robot", now=stage.now)
    with pytest.raises(UserError, match="its owner opens"):
        opened(stage, agent)


def test_staff_open_a_match_for_an_entrant_and_a_stranger_does_not(stage: Stage) -> None:
    human = opened(stage).human
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.REVIEWER)
    assert opened(stage, stage.cleo, human=human).operator == stage.cleo
    with pytest.raises(UserError, match="you are not in it"):
        opened(stage, stage.ben, human=human)


def test_open_matches_of_an_entrant_have_a_limit(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "MOST_OPEN", 1)
    first = opened(stage)
    with pytest.raises(UserError, match="close one"):
        opened(stage)
    acts.close(match=first, actor=stage.ada, now=stage.now)
    opened(stage)
    monkeypatch.setattr(acts, "MOST_A_DAY", 2)
    with pytest.raises(RateLimited, match="wait until tomorrow"):
        opened(stage)


def test_first_version_needs_the_prediction(stage: Stage) -> None:
    match = opened(stage)
    with pytest.raises(UserError, match="predict first") as caught:
        sent(stage, match)
    assert caught.value.status == 409
    assert not match.human.submissions.exists()
    predicted(stage, match)
    version = sent(stage, match)
    assert (version.number, version.side, version.submission.mode) == (1, HUMAN, "benchmark")


def test_database_refuses_a_version_before_the_prediction(stage: Stage) -> None:
    match, submission = opened(stage), stage.submit(mode="benchmark")
    row = {"match": match, "side": HUMAN, "number": 1, "submission": submission, "created_at": stage.now}
    with pytest.raises(DatabaseError, match="predicts before"), transaction.atomic():
        Version.objects.create(**row)
    ranked = stage.submit(mode="ranked")
    with pytest.raises(DatabaseError, match="a version is a benchmark"), transaction.atomic():
        Version.objects.create(**(row | {"side": MACHINE, "submission": ranked}))


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"bound": "luck"}, "bound"),
        ({"speedup": 0.0}, "speedup"),
        ({"speedup": float("nan")}, "speedup"),
        ({"why": "short"}, "why"),
        ({"why": "x" * 2_001}, "why"),
        ({"why": "a sentence with NUL \x00 inside"}, "why"),
    ],
)
def test_wrong_prediction_is_refused_by_field(stage: Stage, wrong: dict[str, object], field: str) -> None:
    with pytest.raises(UserError) as caught:
        predicted(stage, opened(stage), **wrong)
    assert caught.value.field == field


def test_prediction_is_committed_once_and_never_changed(stage: Stage) -> None:
    match = opened(stage)
    prediction = predicted(stage, match)
    with pytest.raises(UserError, match="nobody changes"):
        predicted(stage, match, speedup=9.0)
    with pytest.raises(DatabaseError), transaction.atomic():
        Prediction.objects.filter(pk=prediction.pk).update(speedup=9.0)
    with pytest.raises(DatabaseError), transaction.atomic():
        prediction.delete()


def test_only_the_human_side_predicts_and_sends(stage: Stage) -> None:
    match = opened(stage)
    for act in (lambda: predicted(stage, match, author=stage.cleo), lambda: sent(stage, match, author=stage.olga)):
        with pytest.raises(UserError, match="open a match of your own") as caught:
            act()
        assert caught.value.status == 403


def test_later_version_names_reason_and_expected_speedup(stage: Stage) -> None:
    match = opened(stage)
    predicted(stage, match)
    with pytest.raises(UserError, match="no change to explain"):
        sent(stage, match, "why not", 2.0)
    sent(stage, match)
    for reason, expected, field in (
        ("", 2.0, "reason"),
        ("vectorised loads", None, "expected"),
        ("x", -1.0, "expected"),
    ):
        with pytest.raises(UserError) as caught:
            sent(stage, match, reason, expected)
        assert caught.value.field == field
    assert match.human.submissions.count() == 1
    version = sent(stage, match, "vectorised loads", 1.8)
    assert (version.number, version.reason, version.expected) == (2, "vectorised loads", 1.8)


def test_machine_version_keeps_prompt_answer_and_model(stage: Stage) -> None:
    version = answered(stage, opened(stage))
    lineage = version.submission.lineage
    assert (version.side, version.prompt, version.turn) == (MACHINE, "Write a kernel.", 1)
    assert lineage.model == "acme/coder-7b"
    assert len(lineage.prompt_sha256) == 64


def test_version_never_ranks(stage: Stage) -> None:
    match = opened(stage)
    predicted(stage, match)
    version = sent(stage, match)
    stage.judge(version.submission, ratio=0.5)
    assert not Entry.objects.exists()


def test_operators_agent_sends_for_the_machine_and_a_stranger_does_not(stage: Stage) -> None:
    match, agent = opened(stage), create_agent(owner=stage.ada, name="robot", now=stage.now)
    stage.board.competition.divisions = ["human", "agent"]
    stage.board.competition.save()
    assert answered(stage, match, agent).submission.owner == agent
    with pytest.raises(UserError, match="only the operator"):
        answered(stage, match, stage.cleo)


def with_model(stage: Stage, model: str, **told: object) -> int:
    given = {"board": stage.board.slug, "hardware": "cpu", "mode": "benchmark", "filename": "kernel.py"}
    lineage = {"model": model} if model else {}
    sent_as = Upload(**(given | told), data=upload(stage).data, lineage=lineage)  # type: ignore[arg-type]
    return acts.pipeline.submit(sent_as, owner=stage.ada, now=stage.later(1)).pk


def test_submissions_of_the_operator_are_attached_once(stage: Stage) -> None:
    match = opened(stage)
    keys = [with_model(stage, match.model) for _ in range(2)]
    rows = [(pk, Exchange(prompt="p", answer="a")) for pk in keys]
    for _ in range(2):
        made = acts.attach(match=match, operator=stage.ada, sent=rows, now=stage.later(1))
        assert [(one.number, one.submission_id) for one in made] == [(1, keys[0]), (2, keys[1])]
    with pytest.raises(UserError, match=f"in match {match.pk} already"):
        acts.attach(match=opened(stage), operator=stage.ada, sent=rows, now=stage.later(1))


def test_submission_is_attached_to_one_of_two_matches_at_once(live_stage: Stage) -> None:
    stage = live_stage
    matches = [opened(stage) for _ in range(2)]
    rows, failed = [(with_model(stage, matches[0].model), Exchange())], list[UserError]()

    def attach(match: Match) -> None:
        try:
            acts.attach(match=match, operator=stage.ada, sent=rows, now=stage.now)
        except UserError as error:
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=attach, args=(match,)) for match in matches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [error.status for error in failed] == [409]
    assert Version.objects.count() == 1


def test_unfit_submission_is_not_attached(stage: Stage) -> None:
    match = opened(stage)
    make_board("matmul")
    wrong = {
        "names no model": with_model(stage, ""),
        "names the model other": with_model(stage, "other"),
        "another board": with_model(stage, match.model, board="matmul"),
        "is of mode ranked": with_model(stage, match.model, mode="ranked"),
        "no submission of yours": stage.submit(stage.cleo, mode="benchmark").pk,
    }
    for words, pk in wrong.items():
        with pytest.raises(UserError, match=words):
            acts.attach(match=match, operator=stage.ada, sent=[(pk, Exchange())], now=stage.later(1))
    with pytest.raises(UserError, match="expected 1 to 64"):
        acts.attach(match=match, operator=stage.ada, sent=[], now=stage.later(1))
    with pytest.raises(UserError, match="at most 64,000"):
        acts.attach(
            match=match,
            operator=stage.ada,
            sent=[(with_model(stage, match.model), Exchange(prompt="x" * 64_001))],
            now=stage.later(1),
        )
    assert not match.versions.exists()


def test_closed_match_takes_nothing(stage: Stage) -> None:
    match = opened(stage)
    with pytest.raises(UserError, match="neither side"):
        acts.close(match=match, actor=stage.cleo, now=stage.now)
    predicted(stage, match)
    match = acts.close(match=match, actor=stage.ada, now=stage.later(1))
    for act in (lambda: sent(stage, match), lambda: answered(stage, match)):
        with pytest.raises(UserError, match="closed since"):
            act()


def test_match_is_public_by_the_choice_of_both_sides(stage: Stage) -> None:
    match = opened(stage)
    match = acts.take_over(match=match, actor=stage.olga, now=stage.now)
    everybody = AnonymousUser()
    match = acts.publish(match=match, actor=stage.ada, now=stage.later(1))
    assert not match.is_public
    assert match not in matches_seen_by(everybody)
    match = acts.publish(match=match, actor=stage.olga, now=stage.later(1))
    assert match.is_public
    assert [*gallery(everybody)] == [match]
    with pytest.raises(UserError, match="only the two sides"):
        acts.withdraw(match=match, actor=stage.cleo, now=stage.now)
    acts.withdraw(match=match, actor=stage.ada, now=stage.later(1))
    assert not gallery(everybody).exists()


def test_operator_who_plays_publishes_both_sides(stage: Stage) -> None:
    assert acts.publish(match=opened(stage), actor=stage.ada, now=stage.now).is_public


def test_private_match_is_read_by_its_sides_and_staff(stage: Stage) -> None:
    match = opened(stage)
    seen = {user.username: match in matches_seen_by(user) for user in (stage.ada, stage.ben, stage.cleo, stage.olga)}
    assert seen == {"ada": True, "ben": False, "cleo": False, "olga": True}
    assert [*matches_of(stage.ada)] == [match]
    assert not matches_of(stage.ben).exists()


def test_machine_side_is_taken_over_before_its_first_version(stage: Stage) -> None:
    match = opened(stage)
    with pytest.raises(UserError, match="neither side"):
        acts.take_over(match=match, actor=stage.ben, now=stage.now)
    answered(stage, match)
    with pytest.raises(UserError, match="has versions already"):
        acts.take_over(match=match, actor=stage.olga, now=stage.now)


def test_match_of_the_week_is_public_and_chosen_by_staff(stage: Stage) -> None:
    match = opened(stage)
    with pytest.raises(UserError, match="both sides publish it first"):
        acts.choose(match=match, actor=stage.olga, note="", now=stage.now)
    acts.publish(match=match, actor=stage.ada, now=stage.now)
    with pytest.raises(UserError, match="only an organiser"):
        acts.choose(match=match, actor=stage.ada, note="", now=stage.now)
    assert acts.choose(match=match, actor=stage.olga, note="A close race.", now=stage.now).match == match
