"""Sets become competitions, boards and problem versions; a new import writes only changes and reports each problem."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from leaderboard.admissions.door import refusals
from leaderboard.admissions.models import AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.competitions.importing import Import, ProblemReport, Report, import_sets
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion
from problems.formats.folders import SetFile
from problems.formats.gpumode import Fault, ProblemSet, SetEntry
from tests.leaderboard.stage import NOON, Stage, current, make_problem

LIBRARY = Path(__file__).parents[3] / "problems" / "library"
DEADLINE = datetime(2027, 1, 1, tzinfo=UTC)
CONSOLE = Import(actor=None, source="a test", now=NOON)
SOFTMAX = SetEntry(problem=make_problem(), slug="softmax", deadline=DEADLINE, gpus=("cpu", "H200"))
BARE = SetEntry(problem=make_problem(slug="bare", gpus=()), slug="bare", deadline=None, gpus=())


def make_set(*entries: SetEntry, name: str = "Kernels 101", faults: tuple[Fault, ...] = ()) -> SetFile:
    found = ProblemSet(name=name, description="Two small kernels", deadline=None, entries=entries, faults=faults)
    return SetFile(f"{name}.yaml", found=found)


def bring_in(*files: SetFile, dry_run: bool = False, act: Import = CONSOLE) -> Report:
    return import_sets(files, act, dry_run=dry_run)


def line_of(report: Report) -> ProblemReport:
    ((line,),) = [one.problems for one in report.sets]
    return line


@pytest.mark.django_db
def test_a_set_becomes_boards() -> None:
    report = bring_in(make_set(SOFTMAX))
    assert report.counts == {"created": 1}
    assert (report.sets[0].competition, report.sets[0].status) == ("kernels-101", "created")
    assert [(board.slug, board.hardware, board.deadline) for board in Board.objects.all()] == [
        ("softmax", "H200", DEADLINE),
        ("softmax", "cpu", DEADLINE),
    ]
    version = ProblemVersion.objects.get()
    assert version.digest == SOFTMAX.problem.digest == line_of(report).digest
    assert version.bundle == SOFTMAX.problem.to_bundle()


@pytest.mark.django_db
def test_the_same_set_again_changes_nothing() -> None:
    bring_in(make_set(SOFTMAX))
    before, rows = list(Board.objects.values()), Row.objects.count()
    report = bring_in(make_set(SOFTMAX))
    assert (report.counts, report.sets[0].status, report.has_changes) == ({"unchanged": 1}, "unchanged", False)
    assert list(Board.objects.values()) == before
    assert Row.objects.count() == rows


@pytest.mark.django_db
def test_a_dry_run_says_the_same_and_keeps_nothing() -> None:
    dry = bring_in(make_set(SOFTMAX, BARE), dry_run=True)
    assert not any(model.objects.exists() for model in (Competition, Problem, Row))
    assert dry.sets == bring_in(make_set(SOFTMAX, BARE)).sets
    assert dry.dry_run
    assert dry.has_changes


def test_a_changed_problem_is_a_new_version_and_old_attempts_keep_theirs(stage: Stage) -> None:
    submission = stage.submit()
    old = current(submission).version
    changed = replace(SOFTMAX, problem=make_problem(description="Clearer."), gpus=("cpu",))
    line = line_of(bring_in(make_set(changed), act=Import(stage.olga, "an upload", NOON)))
    assert (line.status, line.reason) == ("updated", "cpu: new version and new deadline")
    stage.board.refresh_from_db()
    assert stage.board.version.digest == changed.problem.digest != old.digest
    assert current(submission).version == old
    row = Row.objects.get(act="update_board")
    assert (row.before["version"], row.after["version"]) == (old.digest, changed.problem.digest)
    assert (row.actor, row.reason) == (stage.olga, "an upload")


@pytest.mark.django_db
def test_a_changed_case_alone_is_a_new_version() -> None:
    bring_in(make_set(SOFTMAX))
    cases = (*make_problem().benchmarks, {"rows": 3, "cols": 5, "seed": 1})
    report = bring_in(make_set(replace(SOFTMAX, problem=make_problem(benchmarks=cases))))
    assert report.counts == {"updated": 1}
    assert ProblemVersion.objects.count() == 2


@pytest.mark.django_db
def test_a_hardware_with_timed_cases_of_its_own_has_a_version_of_its_own() -> None:
    bring_in(make_set(SOFTMAX))
    large = ({"rows": 8192, "cols": 8192, "seed": 1},)
    problem = make_problem(gpus=("cpu", "H200"), benchmarks_on={"H200": large})
    entry = replace(SOFTMAX, problem=problem)
    line = line_of(bring_in(make_set(entry)))
    boards = {board.hardware: board for board in Board.objects.with_parts()}
    assert (line.status, line.digest) == ("updated", boards["cpu"].version.digest)
    assert boards["H200"].version.digest == problem.on("H200").digest
    assert boards["H200"].version.part("benchmarks") == [*large]
    assert boards["cpu"].version.part("benchmarks") == [*problem.benchmarks]
    assert line_of(bring_in(make_set(entry))).status == "unchanged"


@pytest.mark.django_db
def test_hardware_that_is_added_updates_and_hardware_that_is_left_out_stays() -> None:
    bring_in(make_set(replace(SOFTMAX, gpus=("cpu",))))
    report = bring_in(make_set(replace(SOFTMAX, gpus=("H200",))))
    assert (line_of(report).status, line_of(report).reason) == ("updated", "H200: created")
    assert report.sets[0].warnings == ("softmax on cpu is not in the set any more; it stays",)
    assert Board.objects.count() == 2


@pytest.mark.django_db
def test_an_unsupported_problem_is_listed_with_its_reason() -> None:
    entry = replace(SOFTMAX, problem=make_problem(unsupported="It runs on several GPUs."))
    line = line_of(bring_in(make_set(entry)))
    assert (line.status, line.change, line.reason) == ("unsupported", "created", "It runs on several GPUs.")
    assert Board.objects.count() == 2
    assert line_of(bring_in(make_set(entry))).change == "unchanged"


@pytest.mark.django_db
def test_a_refused_problem_leaves_the_others_as_they_are() -> None:
    report = bring_in(make_set(SOFTMAX, BARE, faults=(Fault("torn", "torn.task.yml", "is not valid YAML"),)))
    assert report.counts == {"created": 1, "refused": 2}
    assert [(line.problem, line.status, line.field) for line in report.sets[0].problems] == [
        ("softmax", "created", ""),
        ("bare", "refused", "gpus"),
        ("torn", "refused", "torn.task.yml"),
    ]
    assert Problem.objects.get().slug == "softmax"
    row = Row.objects.get(act="import_set")
    assert [told["problem"] for told in row.after["problems"]] == ["softmax", "bare", "torn"]


@pytest.mark.django_db
def test_a_set_of_refused_problems_makes_no_competition() -> None:
    report = bring_in(make_set(BARE))
    assert (report.sets[0].status, report.counts) == ("refused", {"refused": 1})
    assert not any(model.objects.exists() for model in (Competition, Problem, Row))


@pytest.mark.django_db
def test_another_competition_does_not_take_a_board_over_but_has_one_of_its_own() -> None:
    bring_in(make_set(SOFTMAX))
    changed = replace(SOFTMAX, problem=make_problem(title="Mine now"), gpus=("cpu",))
    line = line_of(bring_in(make_set(changed, name="Kernels 102")))
    assert (line.problem, line.status) == ("softmax-kernels-102", "created")
    assert line.warnings == ("another competition has a board softmax; here it is softmax-kernels-102",)
    assert Problem.objects.get(slug="softmax").title == make_problem().title
    assert Board.objects.get(slug="softmax", hardware="cpu").competition.name == "Kernels 101"
    mine = Board.objects.get(slug="softmax-kernels-102")
    assert mine.version.part("slug") == mine.problem.slug == mine.slug
    again = bring_in(make_set(changed, name="Kernels 102"), make_set(SOFTMAX))
    assert again.counts == {"unchanged": 2}


@pytest.mark.django_db
def test_a_name_without_any_free_form_is_refused() -> None:
    long = "s" * 64
    taken = replace(SOFTMAX, problem=make_problem(slug=long), slug=long)
    bring_in(make_set(taken))
    line = line_of(bring_in(make_set(taken, name="Kernels 102")))
    assert (line.problem, line.status, line.field) == (long, "refused", "name")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Kernels 101", "kernels-101!"])
def test_two_sets_of_one_name_in_one_import_do_not_mix(name: str) -> None:
    other = replace(SOFTMAX, problem=make_problem(slug="other"), slug="other")
    first, second = bring_in(make_set(SOFTMAX), replace(make_set(other, name=name), label="second.yaml")).sets
    assert (first.status, second.status, second.field) == ("created", "refused", "name")
    assert "Kernels 101.yaml is a set of this name already" in second.reason
    assert Competition.objects.get().name == "Kernels 101"
    assert Board.objects.filter(slug="other").count() == 0


@pytest.mark.django_db
def test_files_that_are_no_sets_are_told() -> None:
    torn = SetFile("torn.yaml", fault=Fault("", "torn.yaml", "is not valid YAML"))
    foreign = SetFile("ci.yaml", fault=Fault("", "problems", "missing"), is_foreign=True)
    report = bring_in(make_set(SOFTMAX), torn, foreign, make_set(SOFTMAX, name="本"))
    assert [one.status for one in report.sets] == ["created", "refused", "skipped", "refused"]
    assert report.sets[3].field == "name"
    assert report.counts == {"created": 1, "refused": 2}


@pytest.mark.django_db
def test_the_sample_set_is_brought_in_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_problems", LIBRARY / "kernels101.yaml")
    said = capsys.readouterr().out
    assert "kernels101.yaml: Kernels 101: created" in said
    assert re.search(r"^  vectoradd +created +cpu", said, re.MULTILINE)
    assert re.search(r"^[1-9]\d* created$", said, re.MULTILINE)
    assert "only its organisers see it; publish it at /organise/kernels-101" in said
    assert (Competition.objects.get().slug, Competition.objects.get().visibility) == ("kernels-101", "closed")


@pytest.mark.django_db
def test_import_problems_publishes_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_problems", LIBRARY / "kernels101.yaml", "--publish")
    assert "only its organisers see it" not in capsys.readouterr().out
    assert Competition.objects.get().visibility == "public"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "gates", "is_open"),
    [((), {True}, False), (("--admission", "open"), {False}, True), (("--admission", "none"), set(), True)],
)
def test_what_the_command_brings_in_has_to_pass_its_admission_test(
    asked: tuple[str, ...], gates: set[bool], is_open: bool
) -> None:
    call_command("import_problems", LIBRARY / "kernels101.yaml", *asked, verbosity=0)
    boards = list(Board.objects.all())
    assert set(AdmissionTest.objects.values_list("gate", flat=True)) == gates
    assert AdmissionTest.objects.count() in (0, len(boards))
    assert {not why for why in refusals(boards).values()} == {is_open}
    call_command("import_problems", LIBRARY / "kernels101.yaml", *asked, verbosity=0)
    assert AdmissionTest.objects.count() in (0, len(boards)), "nothing is new, so nothing is asked again"


@pytest.mark.django_db
def test_one_set_of_a_folder_is_tried_and_told_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_problems", LIBRARY, "--set", "Kernels 101", "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["dry_run"], told["counts"]) == (True, {"created": len(told["sets"][0]["problems"])})
    assert [one["file"] for one in told["sets"]] == ["kernels101.yaml"]
    assert {"vectoradd", "softmax"} <= {line["problem"] for line in told["sets"][0]["problems"]}
    assert not Competition.objects.exists()


@pytest.mark.django_db
def test_a_set_of_other_hardware_and_times_can_be_offered_here(tmp_path: Path) -> None:
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "task.yml").write_text(
        "files: [{name: reference.py, source: reference.py}]\nbenchmarks: [{size: 4}]\n"
    )
    (tmp_path / "scale" / "reference.py").write_text("def generate_input(size): ...\ndef ref_kernel(data): ...\n")
    entry = "{directory: scale, name: scale, gpus: [B200], deadline: 2025-01-01}"
    (tmp_path / "set.yaml").write_text(f"name: C\ndeadline: 2025-01-01\nproblems: [{entry}]\n")
    call_command("import_problems", tmp_path, "--hardware", "cpu,H200", "--no-deadlines")
    assert [(board.hardware, board.deadline) for board in Board.objects.all()] == [("H200", None), ("cpu", None)]
    with pytest.raises(CommandError, match=r"hardware\[0\]: 'a/b' is not a single word"):
        call_command("import_problems", tmp_path, "--hardware", "a/b")


@pytest.mark.django_db
def test_what_is_refused_fails_the_command_after_the_rest_came_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (LIBRARY / "kernels101.yaml").read_text()
    (tmp_path / "kernels101").symlink_to(LIBRARY / "kernels101")  # points outside the set's folder
    (tmp_path / "set.yaml").write_text(text)
    with pytest.raises(CommandError, match=r"[1-9]\d* refused"):
        call_command("import_problems", tmp_path)
    assert "problems[0].directory: 'kernels101/vectoradd' lies outside the problem set" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_broken_set_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set.yaml").write_text("name: 7\n")
    with pytest.raises(CommandError, match="no problem set"):
        call_command("import_problems", tmp_path)
    with pytest.raises(CommandError, match=r"none\.yaml"):
        call_command("import_problems", tmp_path / "none.yaml")
