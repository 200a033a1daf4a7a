"""The `runner` command: the daemon, and the judge without a site.

Exit code 0: yes; 1: no; 2: the request could not be carried out, with one sentence on stderr; 128 + n: ended by signal
n, its containers removed.
"""

import contextlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

try:
    from runner import config
    from runner.commands import local, render
    from runner.host import doctor, fleet
    from runner.job import cleanup, execute
except ModuleNotFoundError as missing:  # an editable install without the extra `runner`
    print(
        f"The judge needs {missing.name}, which is not installed here; in a checkout of Photofinish: "
        "pip install -c constraints.txt -e '.[runner]'",
        file=sys.stderr,
    )
    sys.exit(2)
from leaderboard.cli.start import on_terminal
from problems.spec import Problem
from runner.daemon.loan import Patience
from runner.errors import ConfigError, RunnerError
from runner.wire import (
    BENCHMARK,
    LEAST_POSITIVE,
    MODES,
    MOST_RUNS,
    TEST,
    TIMED_MODES,
    Expectation,
    Job,
    Report,
)

DRAIN_LOOK_S: Final = 2.0

TOLD_EVERY_S: Final = 30.0
Named = Annotated[str, typer.Argument(help="A problem's folder, one in the library by name, or a KernelBench file.")]
Wait = Annotated[
    float | None,
    typer.Option("--wait", min=0, metavar="SECONDS", help="For a device that is busy; 0: fail at once. Else no limit."),
]

MakeJob = Callable[[Problem, str], Job]  # of a problem and this hardware
Draw = Callable[[Console, Report], None]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def about() -> None:
    """Judge kernels on this machine: for a site (`work`), or once, for yourself (`once`)."""


@app.command()
def work() -> None:
    """Judge for a site until stopped. Settings: PHOTOFINISH_URL, RUNNER_TOKEN, BROKER_URL … in the environment."""
    from runner.daemon import worker  # the daemon's packages: judging once needs none of them

    raise typer.Exit(worker.main())


@app.command("fleet", context_settings={"allow_interspersed_args": False})
def run_fleet(
    command: Annotated[
        list[str] | None, typer.Argument(help="With --only: a program and its arguments, such as `runner bench`.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print each runner's cores and memory, and start none.")] = False,
    only: Annotated[
        int | None,
        typer.Option("--only", metavar="DEVICE", help="Run COMMAND with this device's settings, on its cores."),
    ] = None,
) -> None:
    """Judge for a site with every device that RUNNER_FLEET names: one runner each, until stopped.

    The settings of `runner work` count for all; RUNNER_FLEET_TOKENS has a token for each.
    """
    with _refusing(Console(stderr=True)):
        if (only is None) != (not command):
            raise ConfigError("--only goes with a command, such as `runner fleet --only 0 runner bench`")
        settings = config.load_judge()
        seats = fleet.plan_here(settings)
        if only is not None and command:
            fleet.become(settings, seats, only, command)
        if plan:
            render.fleet_plan(Console(), seats)
        members = fleet.members(settings, seats)
    if not plan:
        from runner.daemon import fleet as daemons  # the daemon's packages

        raise typer.Exit(daemons.serve(members))


@app.command("enrol")
def enrol_host(
    url: Annotated[str, typer.Argument(help="The site's address.")],
    code: Annotated[str, typer.Argument(help="The one-time code from its runners page, or from `make_enrol_code`.")],
    file: Annotated[
        Path | None, typer.Option(help="For the token; by default /etc/photofinish/enrolled.env.", show_default=False)
    ] = None,
) -> None:
    """Make this host a runner of a site: the doctor looks at it, and a new token goes into a file of mode 600.

    RUNNER_HARDWARE and the other settings of `runner work` count, except the token and the broker. Exit code 0:
    enrolled; 1: the host is not fit, and the code is not used; 2: the request could not be carried out.
    """
    from runner.commands import enrol  # the daemon's packages

    screen = Console(stderr=True)
    with _refusing(screen):
        settings = config.load_site(url)
        with cleanup.tidy(screen), screen.status("looking at this host"):
            checks = list(doctor.examine(settings, doctor.Host(), doctor.Engine(settings)))
        if not doctor.is_fit(checks, home=False):
            render.checks(Console(), checks, fit=False)
            raise typer.Exit(1)
        path = file or enrol.TOKEN_FILE

        def wait(pause_s: float) -> bool:
            screen.print("The site does not answer; trying again.")
            time.sleep(pause_s)
            return False

        name = enrol.enrol(settings, code, path, checks, wait)
    typer.echo(f"Enrolled as runner {name} for {settings.runner_hardware}. Its token is in {path}.")


@app.command("drain")
def drain(
    off: Annotated[bool, typer.Option("--off", help="Claim work again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return only when it judges nothing any more.")] = False,
) -> None:
    """Let this host's runner finish its attempt and claim nothing more, while it stays up: before an update.

    It reads the settings of `runner work`; with RUNNER_FLEET, it acts on each runner of the fleet. The site keeps this
    state, also over a restart, until `--off`.
    """
    from runner.daemon import client  # the daemon's packages

    screen = Console(stderr=True)
    with _refusing(screen), contextlib.ExitStack() as stack:
        sites = [stack.enter_context(contextlib.closing(client.client_of(one))) for one in _daemons()]
        found = [site.drain(not off) for site in sites]
        for index, site in enumerate(sites):
            if wait and not off and found[index].holds:
                screen.print(
                    f"Runner {found[index].runner} still judges {found[index].holds}; waiting.", highlight=False
                )
            while wait and not off and found[index].holds:
                time.sleep(DRAIN_LOOK_S)
                found[index] = site.drain(True)
    for one in found:
        if off:
            typer.echo(f"Runner {one.runner} claims work again.")
        else:
            rest = f"It still judges {one.holds}." if one.holds else "It judges nothing: it may be stopped."
            typer.echo(f"Runner {one.runner} claims nothing from now on. {rest}")


def _daemons() -> list[config.DaemonSettings]:
    """Return the settings of this host's daemon, or of each daemon of its fleet."""
    settings = config.load_judge()
    if not settings.runner_fleet:
        return [config.load()]
    return [member.settings for member in fleet.members(settings, fleet.plan_here(settings))]


@app.command("once")
def judge_once(
    problem: Named,
    file: Annotated[Path, typer.Argument(help="The submission: a Python file that defines what the problem asks for.")],
    mode: Annotated[str, typer.Option(help=f"One of {', '.join(MODES)}.")] = "ranked",
    bar: Annotated[
        float | None,
        typer.Option(
            min=LEAST_POSITIVE,
            metavar="RATIO",
            help="With --mode benchmark: end the timing after a first look if FILE cannot take less than RATIO times "
            "the baseline's time.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON, and nothing else.")] = False,
    wait: Wait = None,
) -> None:
    """Judge FILE against PROBLEM here, in the same containers as the site would.

    Lines such as `#!PHOTOFINISH gpu H200` at the top of the file count on a site only.

    Exit code 0: it passed; 1: it did not; 2: nothing could be judged.
    """
    screen = Console(stderr=True)
    if mode not in MODES:
        _refuse(screen, f"--mode {mode!r} is not one of {', '.join(MODES)}")
    if bar is not None and mode != BENCHMARK:
        _refuse(screen, f"--bar ends a benchmark early, and --mode is {mode!r}; give --mode benchmark")

    def make_job(found: Problem, hardware: str) -> Job:
        source = local.read_source(file)
        if other := local.not_meant_for(hardware, file, source):
            screen.print(render.seen(f"warning: {other}", style="yellow"), soft_wrap=True)
        return replace(local.job_from(found, source, file.name, mode, hardware), bar=bar)

    report = _judge(screen, problem, make_job, render.report, as_json, wait)
    raise typer.Exit(0 if report.outcome == "passed" else 1)


def _judge(screen: Console, problem: str, make_job: MakeJob, draw: Draw, as_json: bool, wait_s: float | None) -> Report:
    """Judge a job of a problem here, and print its report. Exit without a verdict if the host or the problem failed."""
    _log_warnings()
    with _refusing(screen):
        found, settings = _loaded(screen, problem), config.load_judge()
        job = make_job(found, settings.runner_hardware)
        with cleanup.tidy(screen), screen.status("starting containers") as status:
            patience = _patience(wait_s, screen, status)
            report = local.judge_here(job, settings, lambda event: status.update(render.progress(event)), patience)
    if as_json:
        typer.echo(json.dumps({**report.to_json(), "warnings": found.warnings}, allow_nan=False))
    if report.outcome == "infra_error":
        why = str(report.evidence.get("operator") or report.message)
        _refuse(screen, f"The problem's own code failed. {why}" if report.reason == "problem" else why)
    if not as_json:
        draw(Console(), report)
    return report


def _loaded(screen: Console, name: str) -> Problem:
    """Return the problem. Its warnings are printed first, since a misspelt setting leaves a default in force."""
    problem = local.find_problem(name)
    for warning in problem.warnings:
        screen.print(render.seen(f"warning: {warning}", style="yellow"), soft_wrap=True)
    return problem


def _patience(wait_s: float | None, screen: Console, status: Status) -> Patience:
    """Return a Patience that prints the waiting time and the device's holder: a line at first, then every
    TOLD_EVERY_S."""
    told_at = -TOLD_EVERY_S

    def tell(holder: str, waited_s: float) -> None:
        nonlocal told_at
        if waited_s < told_at:  # a new wait
            told_at = -TOLD_EVERY_S
        sentence = f"waiting for the device, which {holder} has: {waited_s:.0f} s so far"
        status.update(render.seen(sentence))
        if waited_s - told_at >= TOLD_EVERY_S:
            told_at = waited_s
            screen.print(render.seen(sentence), soft_wrap=True)

    return Patience(float("inf") if wait_s is None else wait_s, tell)


def _log_warnings() -> None:
    """Log warnings, except the failure that ends a job: its report and this command show it."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: record.name != execute.log.name)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", handlers=[handler])


@contextlib.contextmanager
def _refusing(screen: Console) -> Iterator[None]:
    """End the command with exit code 2 and one sentence if the request cannot be carried out."""
    try:
        yield
    except RunnerError as err:
        _refuse(screen, str(err))


def _refuse(screen: Console, sentence: str) -> NoReturn:
    screen.print(render.seen(sentence, style="red"), soft_wrap=True)
    raise typer.Exit(2)


@app.command("confirm")
def confirm_record(
    problem: Annotated[str, typer.Argument(help="A problem's folder, or the name of one in the library.")],
    candidate: Annotated[Path, typer.Argument(help="The submission that would take first place.")],
    incumbent: Annotated[Path, typer.Option(help="The submission that holds it.")],
    runs: Annotated[int, typer.Option("--runs", "-k", min=1, max=MOST_RUNS, help="Fewer than 5 decide nothing.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON, and nothing else.")] = False,
    wait: Wait = None,
) -> None:
    """Is CANDIDATE faster than the incumbent? Independent runs with both in turn.

    Exit code 0: yes, a record; 1: no; 2: nothing could be judged.
    """

    def make_job(found: Problem, hardware: str) -> Job:
        return local.confirmation_job(found, candidate, incumbent, runs, hardware)

    report = _judge(Console(stderr=True), problem, make_job, render.confirmation, as_json, wait)
    raise typer.Exit(0 if report.confirmation.get("accepted") else 1)


@app.command("verify")
def verify_problem(
    problem: Named,
    only: Annotated[str, typer.Option(help="Only samples whose name begins so, such as admission/.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print all lines as JSON, and nothing else.")] = False,
    wait: Wait = None,
) -> None:
    """Does each sample submission of PROBLEM get its folder's verdict, and does it refuse zeros and the like?

    Exit code 0: yes; 1: no; 2: not all could be judged, and nothing else is known to be wrong.
    """
    from runner.commands import verify

    logging.basicConfig(level=logging.CRITICAL)
    screen = Console(stderr=True)
    with _refusing(screen):
        found, settings = _loaded(screen, problem), config.load_judge()
        is_file = local.is_model_file(problem)
        every = verify.starters(found) if is_file else verify.in_folders(local.find_folder(problem))
        samples = [sample for sample in every if sample.name.startswith(only)]
        tested = verify.ADMISSION.startswith(only)
        if not samples and not tested:
            _refuse(screen, f"--only {only!r}: no sample's name begins so")
        lines: list[Expectation] = []
        marks: list[str] = []

        def tell(line: Expectation) -> None:
            lines.append(line)
            if not as_json:
                render.verified(Console(), line)

        with cleanup.tidy(screen), screen.status("judging") as status:
            patience = _patience(wait, screen, status)

            def judge(sample: verify.Sample) -> Report:
                status.update(render.seen(f"judging {sample.name}"))
                hardware, asked = settings.runner_hardware, verify.asked(found, sample)
                job = local.job_from(asked, sample.source, sample.filename, sample.mode, hardware)
                return local.judge_here(job, settings, lambda event: None, patience)

            if tested:
                job = local.admission_job(found, settings.runner_hardware)
                report = local.judge_here(job, settings, lambda event: status.update(render.progress(event)), patience)
                marks = list(report.admission.get("marks", []))
                for line in verify.admission_lines(report):
                    tell(line)
            for line in verify.verify(samples, judge, settings.runner_hardware):
                tell(line)
    code = verify.exit_code(lines)
    if as_json:
        verified = {"verified": code == 0, "warnings": found.warnings, "marks": marks}
        typer.echo(json.dumps({**verified, "lines": [line.to_json() for line in lines]}))
    else:
        render.verification(Console(), lines, marks)
    raise typer.Exit(code)


@app.command("manufacture")
def manufacture_kernels(
    modules: Annotated[
        list[Path], typer.Argument(metavar="FOLDER…", help="KernelBench files or other PyTorch modules with inputs.")
    ],
    licence: Annotated[str, typer.Option(help="SPDX licence of the modules, which their kernels have, too.")],
    into: Annotated[Path, typer.Option(help="Folder for journal and data set.")] = Path("manufactured"),
    mode: Annotated[str, typer.Option(help="test: checked; benchmark and ranked: also timed.")] = "ranked",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON line for each module.")] = False,
    wait: Wait = None,
) -> None:
    """Make verified kernels from PyTorch modules: torch.compile writes each, and the judge verifies it.

    The same command goes on after an interruption. INTO/data is a data set with the columns of a site's export, and
    INTO/journal.jsonl has each module with its verdict, or the reason why it was left out.

    Exit code 0: done; 1: no kernel passed; 2: the request could not be carried out.
    """
    screen, made = Console(stderr=True), []
    try:
        from leaderboard.dataset import manufactured
        from runner.commands import manufacture
    except ModuleNotFoundError as missing:  # the image of a daemon has no such part of the site
        _refuse(screen, f"{missing.name} is not installed here; run it in a checkout of Photofinish")
    logging.basicConfig(level=logging.CRITICAL)
    with _refusing(screen):
        if licence not in manufactured.LICENCES:
            _refuse(screen, f"--licence {licence!r} is not one of {', '.join(manufactured.LICENCES)}")
        if mode not in (TEST, *TIMED_MODES):
            _refuse(screen, f"--mode {mode!r} is not one of {', '.join((TEST, *TIMED_MODES))}")
        if manufactured.missing:
            _refuse(screen, manufactured.missing)
        files, settings = manufacture.module_files(modules), config.load_judge()
        with contextlib.closing(manufacture.Journal(into)) as journal, cleanup.tidy(screen):
            with screen.status("starting") as status:
                tell = lambda step: status.update(render.seen(step))  # noqa: E731
                maker = manufacture.Maker(settings, mode, licence, _patience(wait, screen, status), tell)
                for one, is_new in manufacture.manufacture(files, journal, maker):
                    made.append(one)
                    render.manufactured(Console(), one, is_new=is_new, as_json=as_json)
            rows = [one.row for one in journal.made.values() if one.row is not None]
            counts = manufactured.write(into, rows, now=datetime.now(UTC)) if rows else {}
    for table, count in counts.items():
        screen.print(f"{into / manufactured.FOLDER}, {table}: {count} rows", highlight=False)
    raise typer.Exit(0 if any(one.outcome == manufactured.PASSED for one in made) else 1)


@app.command("replay")
def replay_report(
    file: Annotated[Path, typer.Argument(help="What `runner once --json` printed, or a report from the site.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON, and nothing else.")] = False,
) -> None:
    """Decide again from what a report stores, and compare. Exit code 0: the same; 1: not; 2: nothing to replay."""
    from runner.commands import replay

    with _refusing(Console(stderr=True)):
        found = replay.replay(replay.read(file))
    if as_json:
        typer.echo(json.dumps(found.to_json(), allow_nan=False))
    else:
        render.replayed(Console(), found)
    raise typer.Exit(0 if found.same else 1)


@app.command("doctor")
def examine_host(
    home: Annotated[bool, typer.Option("--home", help="For yourself: a verdict need not be certified.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all checks as JSON, and nothing else.")] = False,
) -> None:
    """Is this host fit to judge? Each check with what was found, why it matters and the remedy. Exit code 1: no."""
    screen = Console(stderr=True)
    with _refusing(screen), cleanup.tidy(screen), screen.status("looking"):
        settings = config.load_judge()
        checks = list(doctor.examine(settings, doctor.Host(), doctor.Engine(settings)))
    fit = doctor.is_fit(checks, home=home)
    if as_json:
        typer.echo(json.dumps({"fit": fit, "home": home, "checks": [vars(check) for check in checks]}))
    else:
        render.checks(Console(), checks, fit=fit)
    raise typer.Exit(0 if fit else 1)


@app.command("helper")
def help_the_judge() -> None:
    """Make and end containers for a judge without root's rights, until a signal. Reads RUNNER_HELPER."""
    from runner.host import helper

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    with _refusing(Console(stderr=True)):
        helper.serve(config.load_judge())


@app.command("bench")
def measure_host(
    as_json: Annotated[bool, typer.Option("--json", help="Print the ceilings as JSON, and nothing else.")] = False,
    wait: Wait = None,
) -> None:
    """Measure what this host's device can do at most, through the judge's own way, and store it for its epoch."""
    from runner.commands import bench
    from runner.host import epochs

    _log_warnings()
    screen = Console(stderr=True)
    with _refusing(screen):
        settings = config.load_judge()
        epochs.make_room(settings)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        with cleanup.tidy(screen), screen.status("starting containers") as status:
            judge = bench.judge_of(settings, _patience(wait, screen, status))
            found = bench.measure_ceilings(settings, judge, when=when, tell=lambda label: status.update(Text(label)))
        path = epochs.keep_ceilings(settings, found.ceilings)
    if as_json:
        typer.echo(json.dumps(found.ceilings.to_json(), allow_nan=False))
    else:
        render.ceilings(Console(), found.ceilings, path)
    for label, why in found.missing.items():
        screen.print(Text(f"{label} was not measured: {why}", style="yellow"))
    for label, slower in found.disturbed.items():
        longer = f"{label}: a usual block took {100 * slower:.0f} % longer than the fastest"
        screen.print(Text(f"{longer}; measure again when it is quiet", style="yellow"))


def run() -> None:
    on_terminal(app)
