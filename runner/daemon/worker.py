"""The daemon: hears the doorbell, claims the next attempt over HTTP, has it judged, reports, until none is left.

It claims when the bell rings, at the start, and every RUNNER_POLL_S: a lost broker costs only time. Without a broker,
the bell rings over HTTP, as the answer to a call that the site holds back until there is work. It claims only with
a judge that is prepared and waits (runner/daemon/judge_handle.py): a host that cannot judge takes no work, and no work
waits for containers. Always true: one attempt at a time, under a lease; a report is on disk before it is sent; there is
no report for a lost lease; no judge is prepared or cleared away while an attempt is timed (runner/daemon/standby.py),
and there is no claim while the device is lent to a command (runner/daemon/loan.py) or set aside
(runner/daemon/canary.py); an attempt has no effect on the judging of the next.
"""

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any, Final

import dramatiq
import structlog
from structlog.typing import Processor

from runner import __version__, config, errors
from runner.broker import open_broker
from runner.config import DaemonSettings
from runner.daemon import canary
from runner.daemon.ahead import Ahead
from runner.daemon.attempt import EventFeed, Lease
from runner.daemon.client import SiteClient, backoff_s, client_of, persist
from runner.daemon.judge_handle import Host, JudgeProcess
from runner.daemon.loan import IDLE, Stay
from runner.daemon.spool import Spool, Spooled
from runner.daemon.standby import SLOTS, Standby
from runner.evidence.schema import VERSION as EVIDENCE_VERSION
from runner.host import fleet, helper
from runner.host.accelerators import Device, DeviceLock, building_cores, cpuset, device_of, make_of
from runner.wire import JUDGE, OUT_OF_TIME, PROBLEM, Job, Report, Software

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

REPORT_PATIENCE_S: Final = 600.0  # how long a finished attempt holds its device while the site is away
DEVICE_PATIENCE_S: Final = 15.0  # a predecessor may still be ending
FAULT_PAUSE_CAP_S: Final = 60.0  # between attempts of a judge that keeps failing: a broken host must not eat the queue
IDLE_TICK_S: Final = 1.0  # interval at which an idle daemon checks that its judges still wait
REAP_LIMIT_S: Final = 60.0
NOT_THE_HOSTS: Final = (PROBLEM, OUT_OF_TIME)  # an organiser's broken or too slow problem: no reason to slow down
HAND_IN_S: Final = 20.0  # before the site's deadline the judge is ended: it clears away, and its report travels
RELEASE_PATIENCE_S: Final = 5.0  # how long an ending daemon asks the site to take its attempt back

HEALTH_EVERY_S: Final = 30.0

BROKER_TIMEOUT_S: Final = 5.0
WORKER_TIMEOUT_MS: Final = 50  # longest pause between two looks at an empty queue
SHUTDOWN_MS: Final = 5_000

EPOCH_REMEDY: Final = (
    "the site gives this runner tests, and timed work only of contests that pin this epoch, until an administrator "
    "makes the epoch current on /organise, or this host gets the driver, limits and software of the others"
)
OUT_OF_TIME_MESSAGE: Final = (
    "Judging this took longer than the site allows for one attempt. Nothing is held against the submission; the "
    "problem's time limits and its reference do not fit together, and its organiser can change them."
)
FAULT_MESSAGE: Final = (
    "The machine that judged this had a fault. Nothing is held against the submission, and the operators can see what "
    "happened."
)


class Daemon:
    """Runner of a device for a site, with one attempt at a time."""

    def __init__(self, settings: DaemonSettings, client: SiteClient, spool: Spool) -> None:
        self._settings = settings
        self._client = client
        self._spool = spool
        self._environment = config.judge_environment(spool.runner_id)
        self._identity: dict[str, Any] = {}
        if user := helper.judge_user(settings):
            self._identity = user.identity
            self._environment |= user.environment(settings)
        self._stopping = threading.Event()
        self._one_at_a_time = threading.Lock()
        on_host, count = make_of(settings.runner_hardware).on_host, settings.runner_standby
        cores = sorted(os.sched_getaffinity(0))
        self._beside = () if on_host else building_cores(cores, settings.runner_build_cores)
        self._stay = Stay(Device.of(settings), settings.runner_locks)
        self._spares = 0 if on_host else count  # containers of the only judge
        self._standby = Standby(
            self._new_judge,
            lambda slot: self._reap(self._owner(slot)),
            count if on_host else 0,
            self._stopping,
            renews=bool(self._spares),
        )
        self._ahead = Ahead(
            lambda: self._client.upcoming(settings.runner_hardware),
            settings.runner_build_command,
            self._environment | {"RUNNER_ID": f"{spool.runner_id}b"},
            self._identity,
            self._beside,
            lambda: self._reap(f"{spool.runner_id}b"),
        )
        self._unfit = ""  # why the device must not judge, until that is stored
        self._host: Host | None = None  # as the site knows it
        self._has_job = False  # or may be about to: it asks for a job
        self._renew_s = 15.0
        self._faults = 0
        self._no_canary_before = 0.0
        self._no_health_before = 0.0
        self._owes_hello = False  # the site gives a device that was set aside no work until the next hello

    def wind_down(self) -> None:
        """End the daemon once the attempt that it judges is reported; it claims no more."""
        self._stopping.set()
        if not self._has_job:
            self._standby.stop("shutdown")

    def stop(self) -> None:
        """End the daemon soon: the judge is stopped, and its attempt is handed back to the site."""
        self._stopping.set()
        self._standby.stop("shutdown")

    def close(self) -> None:
        """Send the judges that wait for a job away, and wait until they are gone."""
        self._ahead.close()
        with self._one_at_a_time:
            self._standby.close()
            self._stay.give()

    def run(self) -> None:
        """Work until stopped. Raises RunnerError if further work is pointless (a wrong token, for example)."""
        self._reap(*map(self._owner, range(SLOTS)), f"{self._spool.runner_id}b")
        try:
            if not self._greet():
                return
            broker_url = self._settings.broker_url.get_secret_value()
            ca_file, hardware = self._settings.broker_ca_file, self._settings.runner_hardware
            if not broker_url:
                threading.Thread(target=self._listen_over_http, name="bell", daemon=True).start()
            with listening(broker_url, ca_file, hardware, self.judge_until_idle) if broker_url else nullcontext():
                while not self._stopping.is_set():
                    self.judge_until_idle()
                    self._idle()
        finally:
            self.close()

    def _listen_over_http(self) -> None:
        """Claim whenever the site answers that there may be work, until stopped. A busy runner does not ask."""
        log.info("listening", over="http")
        failures = 0
        while not self._stopping.is_set():
            self.judge_until_idle()
            try:
                self._client.await_bell(self._settings.runner_hardware)
                failures = 0
            except errors.SiteUnreachable as error:
                self._stopping.wait(backoff_s(failures, error.retry_after_s))
                failures += 1
            except errors.SiteError as error:  # an older site, a token that was revoked: there is the poll
                log.warning("no_bell_over_http", error=str(error))
                self._stopping.wait(self._settings.runner_poll_s)
            except RuntimeError:
                if not self._stopping.is_set():  # else the daemon closed the client as it ended
                    raise

    def judge_until_idle(self) -> None:
        """Judge until the site has no more work. Returns at once when stopping, waits while another thread judges."""
        with self._one_at_a_time:
            failures = unprepared = 0
            while not self._stopping.is_set():
                self._has_job = False
                try:
                    for unsent in self._spool.waiting():  # of a former run, or from when the site was away
                        self._hand_in(unsent)
                    if self._stay.asked():  # `_prepared` takes the device back when no command asks any more
                        log.info("device_lent")
                        self._standby.put_away("lent")
                        self._stay.give()
                    self._report_health()
                    if not self._is_fit():
                        return
                    judge = self._prepared()
                    if judge.host != self._host or self._owes_hello:
                        self._hello()
                    self._standby.refill()
                    self._has_job = True
                    software = _software(judge.host)
                    job = self._client.claim(self._settings.runner_hardware, software, self._ahead.at_work)
                except errors.JudgeStopped:
                    return
                except errors.JudgeFault as fault:
                    self._not_prepared(fault, unprepared)
                    unprepared += 1
                    continue
                except errors.SiteUnreachable as error:
                    log.warning("site_unreachable", error=str(error))
                    self._stopping.wait(backoff_s(failures, error.retry_after_s))
                    failures += 1
                    continue
                except (errors.Unauthorised, errors.SiteRefused) as error:
                    self._has_job = False
                    log.error("claim_refused", error=str(error))
                    return
                failures = 0
                if job is None:
                    self._has_job = False
                    if self._client.standing:
                        log.warning("no_work_for_this_runner", why=self._client.standing)
                    return
                self._work_on(job)

    def _is_fit(self) -> bool:
        """Return whether this device may judge. While a device that was set aside must prove it, canaries run once
        every RUNNER_POLL_S."""
        why = canary.pending(self._settings.runner_state)
        if not why and self._unfit:
            with suppress(OSError):  # not stored before: the disk was full, and may still be
                canary.set_aside(self._settings.runner_state, self._unfit)
            why = canary.pending(self._settings.runner_state)
            if not why:
                return False
        self._unfit = ""
        if not why:
            return True
        self._owes_hello = True
        if time.monotonic() < self._no_canary_before:
            return False
        log.warning("device_set_aside", reason=why)
        try:
            found = canary.fit(self._settings, self._judge_canary)
        except OSError as error:  # a full disk: a pass counts once it is stored
            found = canary.Fitness(False, f"the canary could not be judged and stored: {error}")
        if found.ok:
            log.info("device_is_fit_again", was=why)
        elif not self._stopping.is_set():
            log.error("canary_failed", reason=found.reason)
        self._no_health_before = 0.0
        self._report_health()
        self._no_canary_before = 0.0 if found.ok else time.monotonic() + self._settings.runner_poll_s
        return found.ok

    def _report_health(self) -> None:
        """Tell the site how this host is, at most every HEALTH_EVERY_S. A failure costs no claim."""
        if time.monotonic() < self._no_health_before:
            return
        self._no_health_before = time.monotonic() + HEALTH_EVERY_S
        try:
            self._client.health(canary.health_of(self._settings))
        except (errors.SiteError, OSError) as error:
            log.warning("health_not_reported", error=str(error))

    def _judge_canary(self, job: Job) -> Report | None:
        """Judge a canary. Raises JudgeFault."""
        try:
            self._prepared()
            return self._standby.take(timed=True, fresh=True).run(job, lambda event: None)
        except errors.JudgeStopped:
            return None
        finally:
            self._standby.retire(at_once=True)

    def _idle(self) -> None:
        """Wait until it is time to claim, to prepare again (a judge may end while it waits), or to lend the device."""
        until = time.monotonic() + self._settings.runner_poll_s
        while (left_s := until - time.monotonic()) > 0 and not self._stopping.wait(min(IDLE_TICK_S, left_s)):
            if self._standby.is_short or self._stay.asked():
                return

    def _prepared(self) -> JudgeProcess:
        """Return a judge that waits for a job: a current judge, or a new judge. Raises JudgeFault, JudgeStopped."""
        if not self._stay.take(self._stopping):
            raise errors.JudgeStopped("shutdown")
        self._stay.note(IDLE)
        return self._standby.waiting()

    def _new_judge(self, slot: int, is_full: bool) -> JudgeProcess:
        options: tuple[str, ...] = () if is_full else ("--tests",)
        if self._spares:
            options = ("--spares", str(self._spares), cpuset(self._beside))
        return JudgeProcess(
            (*self._settings.runner_judge_command, *options),
            self._environment | {"RUNNER_ID": self._owner(slot)},
            limit_s=self._settings.runner_judge_limit_s,
            grace_s=self._settings.runner_judge_grace_s,
            identity=self._identity,
        )

    def _owner(self, slot: int) -> str:
        """Return the label of the containers of a judge."""
        return f"{self._spool.runner_id}{f's{slot}' if slot else ''}"

    def _greet(self) -> bool:
        """Send hello once a judge is prepared, which alone knows the epoch. Returns False when stopping."""
        failures = 0

        def wait(pause_s: float) -> bool:
            log.warning("site_unreachable", again_in_s=round(pause_s, 2))
            return self._stopping.wait(pause_s)

        while not self._stopping.is_set():
            try:
                persist(self._hello, wait)
            except (errors.SiteUnreachable, errors.JudgeStopped):  # only when stopping
                return False
            except errors.JudgeFault as fault:
                self._not_prepared(fault, failures)
                failures += 1
            else:
                return True
        return False

    def _not_prepared(self, fault: errors.JudgeFault, failures: int) -> None:
        log.error("judge_not_prepared", reason=fault.reason, error=str(fault))
        self._stopping.wait(min(FAULT_PAUSE_CAP_S, 2.0**failures))

    def _hello(self) -> None:
        """Send hello once. Raises SiteUnreachable, Unauthorised, SiteRefused; JudgeFault, JudgeStopped."""
        hardware, host = self._settings.runner_hardware, self._prepared().host
        welcome = self._client.hello(
            hardware, host.fingerprint, host.epoch, _software(host), fleet.place_of(self._settings)
        )
        self._host, self._renew_s, self._owes_hello = host, welcome.renew_s, False
        log.info("hello", runner=welcome.runner, hardware=hardware, lease_s=welcome.lease_s, renew_s=welcome.renew_s)
        if welcome.epoch_state not in ("", "current"):
            log.warning("epoch_not_current", epoch=host.epoch, state=welcome.epoch_state, remedy=EPOCH_REMEDY)

    def _work_on(self, job: Job) -> None:
        """Judge an attempt, from claim to report. No error here may end the loop."""
        log.info("claimed", attempt=job.attempt_id, mode=job.mode)
        self._stay.note(f"a runner that judges attempt {job.attempt_id}")
        started_at = time.monotonic()
        fault = False
        self._ahead.begin()
        try:
            fault = self._judge_and_report(job)
        except Exception:
            log.exception("attempt_failed", attempt=job.attempt_id)
            fault = True
        self._ahead.end()
        log.info("finished", attempt=job.attempt_id, took_s=round(time.monotonic() - started_at, 3), fault=fault)
        self._standby.retire()
        self._standby.refill()
        self._stay.note(IDLE)
        self._faults = self._faults + 1 if fault else 0
        if fault:
            self._stopping.wait(min(FAULT_PAUSE_CAP_S, 2.0 ** (self._faults - 1)))

    def _judge_and_report(self, job: Job) -> bool:
        """Return whether this host (not the submission) is to blame for the end."""
        with Lease(self._client, job, renew_s=self._renew_s, on_lost=self._standby.stop_work) as lease:
            report = self._run_judge(job, lease)
            if report is None:
                if not lease.lost:  # otherwise we stopped the judge
                    try:  # if this fails, the lease runs out, and the site counts a loss
                        persist(lambda: self._client.release(job), lease.wait, RELEASE_PATIENCE_S)
                        log.info("released", attempt=job.attempt_id)
                    except errors.SiteError as error:
                        log.warning("not_released", attempt=job.attempt_id, error=str(error))
                return False
            if report.set_aside:  # noted before the report is sent, to survive a crash
                self._unfit = report.set_aside
                try:
                    canary.set_aside(self._settings.runner_state, report.set_aside)
                except OSError as error:  # a full disk: this process knows it, and the site by the report
                    log.error("set_aside_not_stored", reason=report.set_aside, error=str(error))
            item = self._spool.put(report)
            try:
                persist(
                    lambda: self._hand_in(item),
                    lambda pause_s: self._stopping.wait(0) or lease.wait(pause_s),
                    REPORT_PATIENCE_S,
                )
            except errors.SiteUnreachable as error:  # it stays in the spool
                log.warning("report_kept", attempt=report.attempt_id, error=str(error))
        return report.outcome == "infra_error" and report.reason not in NOT_THE_HOSTS

    def _run_judge(self, job: Job, lease: Lease) -> Report | None:
        """Return the judge's report, or ours about a judge that failed; None if the attempt is no longer ours to
        report.

        With the report the judge is not gone yet: the standby ends it.
        """
        ends_at = time.monotonic() + (job.deadline_s - HAND_IN_S if job.deadline_s else math.inf)
        try:
            with EventFeed(self._client, job, lease) as feed:
                built = self._ahead.take(job, lambda: bool(lease.lost) or self._stopping.is_set())
                try:
                    return self._take(job, lease).run(job, feed.add, ends_at - time.monotonic(), built)
                except errors.JudgeStale:  # it ended during the claim
                    self._standby.retire()
                    return self._take(job, lease).run(job, feed.add, ends_at - time.monotonic(), built)
        except errors.JudgeStopped as stopped:
            log.info("judge_stopped", attempt=job.attempt_id, why=str(stopped))
            return None
        except errors.JudgeFault as fault:
            log.error("judge_fault", attempt=job.attempt_id, reason=fault.reason, error=str(fault))
            if self._stopping.is_set():  # a service manager may have ended the judge along with us
                return None
            return _fault_report(job.attempt_id, job.token, fault.reason)

    def _take(self, job: Job, lease: Lease) -> JudgeProcess:
        timed = job.task != JUDGE or job.mode != "test"
        judge = self._standby.take(timed=timed, fresh=not job.never_ranks, problem=job.problem_digest)
        if lease.lost:  # perhaps before the judge had the job
            self._standby.stop_work(lease.lost)
            raise errors.JudgeStopped(lease.lost)
        return judge

    def _hand_in(self, item: Spooled) -> None:
        """Send a report once. Removes it if it is settled; raises SiteUnreachable if not."""
        report = item.report
        try:
            recorded = self._client.report(report)
            log.info("reported", attempt=report.attempt_id, outcome=report.outcome, recorded=recorded)
            self._spool.sent(item)
        except errors.StaleLease:
            log.warning("report_stale", attempt=report.attempt_id)
            self._spool.sent(item)
        except errors.Unauthorised as error:
            log.error("report_unauthorised", attempt=report.attempt_id, error=str(error))  # kept: a token can be mended
        except errors.SiteRefused as error:
            log.error("report_refused", attempt=report.attempt_id, error=str(error))
            self._spool.refused(item)
            if report.reason != "report_refused":  # ends the attempt, to spare the wait for its lease
                self._hand_in(self._spool.put(_fault_report(report.attempt_id, report.token, "report_refused")))

    def _reap(self, *owners: str) -> None:
        """Remove containers that judges of this runner left behind. A failure is the operator's; the daemon goes on."""
        command = [*self._settings.runner_judge_command, "--reap", *owners]
        try:
            done = subprocess.run(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=REAP_LIMIT_S,
                **self._identity,
            )
        except (OSError, subprocess.SubprocessError) as error:
            log.error("reap_failed", error=str(error))
            return
        if done.returncode != 0:
            log.error("reap_failed", exit_code=done.returncode, stderr=done.stderr[-2_000:].decode(errors="replace"))


@contextmanager
def listening(broker_url: str, ca_file: str, hardware: str, answer: Callable[[], None]) -> Iterator[None]:
    """Listen on the queue "gpu.<hardware>", and call `answer` in a separate thread for every bell, one after another.

    A message carries no truth, only the hint that there may be work. It is kept until the runner has found the site
    empty, so that a busy runner does not swallow the bell of an idle runner, and is then dropped: no retries, no time
    limit, no middleware. After the loss of a broker, the worker waits for it in the background.
    """
    queue = f"gpu.{hardware}"
    broker = open_broker(broker_url, ca_file, timeout_s=BROKER_TIMEOUT_S, middleware=[])

    @dramatiq.actor(broker=broker, actor_name="doorbell", queue_name=queue)
    def doorbell(hint: str = "") -> None:
        log.debug("doorbell", hint=hint[:64])
        answer()

    worker = dramatiq.Worker(broker, queues={queue}, worker_timeout=WORKER_TIMEOUT_MS, worker_threads=1)
    worker.queue_prefetch = 1  # dramatiq reads the environment variable for it only at its first import
    worker.start()
    log.info("listening", queue=queue)
    try:
        yield
    finally:
        worker.stop(timeout=SHUTDOWN_MS)
        broker.close()


def _software(host: Host) -> Software:
    return Software(__version__, EVIDENCE_VERSION, host.images)


def _fault_report(attempt_id: str, token: int, reason: str) -> Report:
    message = OUT_OF_TIME_MESSAGE if reason == OUT_OF_TIME else FAULT_MESSAGE
    return Report(attempt_id=attempt_id, token=token, outcome="infra_error", reason=reason, message=message)


def log_to_stderr(level: str, device: str) -> None:
    """Send all log events, the libraries' (dramatiq, redis) too, to stderr as one JSON object per line.

    Each line names the device, because the runners of a fleet write into the same log.

    No secret is in them: tokens and broker addresses are SecretStr from the edge on, and httpx, which would log
    addresses of requests, is kept to warnings.
    """

    def name_device(_: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.setdefault("device", device)
        return event

    shared: list[Processor] = [
        name_device,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=True),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("pika").setLevel(logging.CRITICAL)  # dramatiq reports a lost connection in one line


def main() -> int:
    """`runner work`, until a signal. Exit code: 0 after a signal, 1 after a fault of its own, 2 when it cannot work at
    all."""
    signals = {signal.SIGTERM, signal.SIGINT}
    # `_serve` waits for them; runner/daemon/die_with_parent.py unblocks them for the judge.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        settings = config.load()
        log_to_stderr(settings.log_level, f"{settings.runner_hardware}-{settings.runner_gpu}")
        device = device_of(settings)
        with closing(DeviceLock(device, settings.runner_locks, "runner")) as lock:  # the device's only daemon
            give_up_at = time.monotonic() + DEVICE_PATIENCE_S
            while not lock.held:
                try:
                    lock.take()
                except errors.DeviceBusy:
                    if time.monotonic() > give_up_at or signal.sigtimedwait(signals, 0.2):
                        raise
            return _serve(settings, signals)
    except errors.RunnerError as error:
        print(f"runner: {error}", file=sys.stderr)
        return 2


def _serve(settings: DaemonSettings, signals: set[signal.Signals]) -> int:
    """Run the daemon in a separate thread; this thread waits for signals.

    SIGTERM: the current attempt is finished, or handed back after RUNNER_DRAIN_S. SIGINT, or a second SIGTERM: it is
    handed back at once.
    """
    client = client_of(settings)
    daemon = Daemon(settings, client, Spool(settings.runner_state, settings.runner_spool_bytes))
    code = 0

    def work() -> None:
        nonlocal code
        try:
            daemon.run()
        except errors.RunnerError as error:
            log.error("cannot_work", error=str(error))
            code = 2
        except Exception:
            log.exception("daemon_failed")
            code = 1

    thread = threading.Thread(target=work, name="daemon")
    thread.start()
    stop_at = math.inf
    while thread.is_alive():
        if received := signal.sigtimedwait(signals, 0.5):
            at_once = received.si_signo == signal.SIGINT or stop_at < math.inf
            within_s = 0.0 if at_once else settings.runner_drain_s
            stop_at = time.monotonic() + within_s
            log.info("stopping", within_s=within_s)
            daemon.wind_down()
        if time.monotonic() >= stop_at:
            daemon.stop()
    client.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
