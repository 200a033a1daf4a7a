"""Different names may map to the same slug: an import never takes over a competition of another set or of the site."""

from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from leaderboard.audit.models import Row
from leaderboard.competitions.edit import create_competition, edit_competition
from leaderboard.competitions.importing import Report, SetReport
from leaderboard.competitions.models import Board, Competition, Problem
from problems.formats.folders import SetFile
from tests.leaderboard.competitions.test_problems_are_imported import DEADLINE, LIBRARY, SOFTMAX, bring_in, make_set
from tests.leaderboard.stage import NOON, Stage, make_problem

MINE = replace(SOFTMAX, gpus=("cpu",))
OTHER = replace(MINE, problem=make_problem(slug="other"), slug="other")


def only(report: Report) -> SetReport:
    (found,) = report.sets
    return found


def told(file: SetFile, **changes: object) -> SetFile:
    assert file.found is not None
    return replace(file, found=replace(file.found, **changes))  # type: ignore[arg-type]


def everything() -> list[object]:
    return [list(model.objects.order_by("pk").values()) for model in (Competition, Board, Problem, Row)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Kernels 日本", "Kernels 中国"),
        ("k" * 64 + " of spring", "k" * 64 + " of autumn"),
        ("Spring, 2026", "Spring 2026!"),
    ],
)
def test_another_set_of_the_same_address_is_refused_and_changes_nothing(first: str, second: str) -> None:
    bring_in(make_set(MINE, name=first))
    before = everything()
    refused = only(bring_in(make_set(OTHER, name=second)))
    assert (refused.status, refused.field, refused.competition) == ("refused", "name", "")
    assert all(name in refused.reason for name in (first, second, "--name", "rename it"))
    assert everything() == before


def test_a_competition_made_on_the_site_is_no_set_of_another_name(stage: Stage) -> None:
    create_competition(actor=stage.olga, slug="spring-2026", settings={"name": "Spring 2026!"}, now=NOON)
    before = everything()
    refused = only(bring_in(make_set(OTHER, name="Spring, 2026")))
    assert (refused.status, refused.field) == ("refused", "name")
    assert everything() == before


def test_it_is_filled_once_it_goes_by_the_name_of_the_set(stage: Stage) -> None:
    made = create_competition(actor=stage.olga, slug="spring-2026", settings={"name": "Spring 2026!"}, now=NOON)
    edit_competition(competition=made, actor=stage.olga, settings={"name": "Spring, 2026"}, now=NOON)
    assert only(bring_in(make_set(OTHER, name="Spring, 2026"))).status == "updated"
    assert Board.objects.get(slug="other").competition == made


@pytest.mark.parametrize("remembers_its_set", [True, False])
def test_a_set_is_imported_again_after_its_competition_was_renamed(stage: Stage, remembers_its_set: bool) -> None:
    bring_in(make_set(OTHER, name="Kernels 日本"))
    made = Competition.objects.get(slug="kernels")
    if not remembers_its_set:  # as before imports recorded the set's name
        imported = Row.objects.filter(act="import_set")
        assert [row.after["name"] for row in imported] == ["Kernels 日本"]
        _forget_imports(made)
    edit_competition(competition=made, actor=stage.olga, settings={"name": "Kernels in spring"}, now=NOON)
    again = only(bring_in(told(make_set(OTHER, name="Kernels 日本"), description="New.")))
    made.refresh_from_db()
    assert (again.status, made.name, made.description) == ("updated", "Kernels in spring", "New.")
    assert only(bring_in(make_set(OTHER, name="Kernels 中国"))).status == "refused"


def _forget_imports(competition: Competition) -> None:
    """Give the competition a new primary key without recorded imports, because audit rows cannot be edited."""
    boards = list(Board.objects.filter(competition=competition).values_list("pk", flat=True))
    fresh = Competition.objects.create(slug="fresh", name=competition.name, description=competition.description)
    Board.objects.filter(pk__in=boards).update(competition=fresh)
    Competition.objects.filter(pk=competition.pk).delete()
    Competition.objects.filter(pk=fresh.pk).update(slug=competition.slug)
    competition.pk = fresh.pk
    competition.refresh_from_db()


@pytest.mark.django_db
def test_two_of_one_folder_are_kept_apart() -> None:
    first, second = bring_in(make_set(MINE, name="Kernels 日本"), make_set(OTHER, name="Kernels 中国")).sets
    assert (first.status, second.status, second.field) == ("created", "refused", "name")
    assert "Kernels 日本.yaml" in second.reason
    assert Competition.objects.get().name == "Kernels 日本"


@pytest.mark.django_db
def test_what_changed_of_the_competition_itself_is_told_and_kept() -> None:
    bring_in(make_set(MINE))
    changed = told(make_set(MINE, name="KERNELS  101"), description="New.", deadline=DEADLINE)
    dry = only(bring_in(changed, dry_run=True))
    done = only(bring_in(changed))
    assert dry == done
    assert (done.status, done.reason) == (
        "updated",
        "new name 'KERNELS  101', before 'Kernels 101'; new description; "
        "new deadline 2027-01-01 00:00:00 UTC, where there was none",
    )
    row = Row.objects.filter(act="import_set").latest("id")
    assert (row.before["deadline"], row.after["deadline"]) == (None, DEADLINE.isoformat())
    assert only(bring_in(changed)).reason == ""
    removed = only(bring_in(told(changed, deadline=None)))
    assert removed.reason == "deadline removed, before 2027-01-01 00:00:00 UTC"


@pytest.mark.django_db
def test_the_command_says_both_names_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    Competition.objects.create(slug="kernels-101", name="Kernels, 101!")
    with pytest.raises(CommandError, match="1 refused"):
        call_command("import_problems", LIBRARY / "kernels101.yaml")
    said = capsys.readouterr().out
    assert "refused: name: 'Kernels 101' comes to the address kernels-101" in said
    assert "the competition 'Kernels, 101!'" in said
    assert not Board.objects.exists()
