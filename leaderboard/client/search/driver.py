"""The search: rounds of ideas, kernels, and batches on the site, until a budget is used up.

Every step is in the journal before the next one begins, so that a killed search goes on where it was. A batch is sent
under a key that is in the journal before, and the site takes a key once.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, Final, TypeVar
from uuid import uuid4

from ..account import Misuse, Refused, SiteProblem
from ..clients import WAIT_S, AsyncClient, backoff_s
from ..values import mapping, number
from .archive import Candidate, Verdict, diverse, ideas
from .journal import FORMAT, Journal
from .prompts import Known, Question, Task, question
from .proposers import Proposed, Proposer, ProposerFailed, Reply
from .state import Batch, Budget, Settings, State, usage
from .strategies import STRATEGIES, Branch

T = TypeVar("T")

MOST_SENT: Final = 256  # candidates of a batch
MOST_SENT_BYTES: Final = 4_000_000  # of their sources
MOST_BATCH_S: Final = 86_400.0
LEAST_BAR: Final = 0.0001
MOST_BAR: Final = 1_000.0
KEY_LASTS_S: Final = 23 * 3_600.0  # the site keeps a key for a day
PATIENCE_S: Final = 300.0  # without the site
EMPTY_ROUNDS: Final = 3  # without a candidate, before the search gives up
BANKED: Final = 3  # kernels of the bank in a question
MOST_SAMPLING: Final = 16  # settings of a model; this and the limits below are the site's
MOST_SETTING: Final = 1e15
MOST_SETTING_CHARS: Final = 64
MOST_COST_USD: Final = 1_000_000
MOST_PROMPT_CHARS: Final = 64_000  # of a match, as the next one
MOST_ANSWER_CHARS: Final = 256_000
CUT: Final = "\n[…]"
# Codes of a refusal that comes after the site has looked for the key: no earlier try was taken.
_NOT_TAKEN: Final = (
    *("invalid", "not_found", "too_large", "board_closed", "board_not_open", "board_unsupported", "not_admitted"),
    *("rules_not_accepted", "agents_not_admitted", "quota_used_up", "too_many_unfinished"),
)
_PLACE: Final = re.compile(r"candidates\.(\d{1,4})\.(?:code|lineage\b.*)")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")  # of a setting, as the site takes it
_NOT_IN_MODEL: Final = re.compile(r"[^A-Za-z0-9._:/+@-]")

Tell = Callable[[State, str], None]


@dataclass(frozen=True)
class Shape:
    """The size of a round."""

    kernels: int = 8
    realisations: int = 2  # kernels of each idea
    at_once: int = 8  # questions


@dataclass
class Search:
    """A search for faster kernels of a board."""

    site: AsyncClient
    proposer: Proposer
    journal: Journal
    settings: Settings
    task: Task
    budget: Budget = field(default_factory=Budget)
    shape: Shape = field(default_factory=Shape)
    bank: Sequence[Known] = ()
    start: Sequence[str] = ()  # kernels of the first round, of the caller's own
    tell: Tell = lambda state, line: None

    def __post_init__(self) -> None:
        """Read the journal. Raises Misuse if it belongs to another search."""
        self.state = State()
        try:
            for record in self.journal.records:
                self.state.take(record)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            text = "has a record that this version does not read; start a new search with --into"
            raise Misuse(f"{self.journal.path}: {text}") from None
        self._began, self._before_s, self._empty = time.monotonic(), self.state.elapsed_s, 0
        self._most = MOST_SENT  # candidates of a batch, in this round
        if self.state.settings is None:
            self._add("search", format=FORMAT, settings=asdict(self.settings))
            return
        kept = self.state.settings
        self.settings = Settings(**{**asdict(self.settings), "run": kept.run})
        for name, value in asdict(self.settings).items():
            if getattr(kept, name) != value:
                text = f"the search of {self.journal.path.parent} has {getattr(kept, name)!r} and not {value!r}"
                raise Misuse(f"{name}: {text}; repeat its command, or start a new search with --into")

    async def run(self) -> str:
        """Search until a budget is used up, and return which. Raises ClientError."""
        while not (why := self._used_up()):
            await self._round(self.state.round)
            if self._empty == EMPTY_ROUNDS:
                last = self.state.faults[-1] if self.state.faults else "every kernel was tried before"
                raise ProposerFailed(f"{EMPTY_ROUNDS} rounds had no new kernel; the last fault: {last}")
        self._say(f"The search ends: {why}.")
        return why

    def _used_up(self) -> str:
        """Return the budget that is used up, or ""."""
        if self.state.open_batch is not None and self._left_s() > 0:
            return ""
        spent, limits = self.state.spent_s, self.budget
        if self.state.round > limits.rounds:
            return f"all {limits.rounds} rounds are done"
        if self.state.sent >= limits.candidates:
            return f"all {limits.candidates} candidates are sent"
        if limits.device_s - spent < 1:
            return f"{spent:.0f} of {limits.device_s:g} device seconds are used"
        return f"its time of {limits.wall_s:g} s is over" if self._left_s() <= 0 else ""

    def _left_s(self) -> float:
        return self.budget.wall_s - self._before_s - (time.monotonic() - self._began)

    def _add(self, kind: str, **content: Any) -> None:
        """Write a record to the journal, and apply it."""
        elapsed_s = round(self._before_s + time.monotonic() - self._began, 3)
        self.state.take(self.journal.add({"kind": kind, **content, "elapsed_s": elapsed_s}))

    def _say(self, line: str) -> None:
        self.tell(self.state, line)

    # -- a round -------------------------------------------------------------------------------------------------------

    async def _round(self, round: int) -> None:
        sent_before, self._most = self.state.sent, MOST_SENT
        if self.state.open_batch is None:
            if round == 0:
                self._take_start()
            else:
                try:
                    async with asyncio.timeout(max(0.0, self._left_s())):
                        await self._propose(round)
                except TimeoutError:
                    return  # the questions without an answer are asked again if the search goes on
            self._leave_out_copies()
        while (batch := self._next_batch(round)) is not None:
            await self._judge(batch)
            if self._left_s() <= 0 and self.state.waiting():
                return
        is_empty = self.state.sent == sent_before and not any(batch.round == round for batch in self.state.batches)
        self._empty = self._empty + 1 if is_empty and round else 0
        self._add("round", round=round)
        best = next(iter(self.state.best()), None)
        if round or self.start:
            self._say(f"Round {round} is done. {_speed(best)}")

    def _take_start(self) -> None:
        if self.start and "start" not in self.state.answers:
            given = Reply(tuple(Proposed(code) for code in self.start))
            self._answer("start", 0, Branch((), 0, len(self.start)), given)

    async def _propose(self, round: int) -> None:
        """Ask for the kernels of a round. Questions with an answer in the journal are not asked again."""
        before = self.state.before(round)
        if round not in self.state.plans:
            self._add("plan", round=round, kernels=await self._size(), realisations=self.shape.realisations)
        random = Random(f"{self.settings.seed}/{round}")  # noqa: S311 a search is repeatable, and no secret
        plan = self.state.plans[round]
        branches = STRATEGIES[self.settings.strategy].branches(before, plan, random)
        self._say(f"Round {round}: {plan.kernels} kernels, {len(branches)} branches.")
        banks = [self._banked(before, branch, random) for branch in branches]
        places = asyncio.Semaphore(self.shape.at_once)
        await _together(
            self._branch(f"{round}.{place}", round, branch, bank, before, places)
            for place, (branch, bank) in enumerate(zip(branches, banks, strict=True))
        )

    async def _size(self) -> int:
        """Return the kernels that the next round may send, by budget and quota."""
        left = min(self.shape.kernels, self.budget.candidates - self.state.sent)
        for row in await self._patiently(lambda: self.site.quota(self.settings.board)):
            if (row["hardware"], row["mode"]) == (self.settings.hardware, self.settings.mode):
                left = min(left, max(1, row["left"]))
        return left

    def _banked(self, before: Sequence[Candidate], branch: Branch, random: Random) -> list[Known]:
        """Return known good kernels for a question: of this search, and of the bank."""
        own = [one for one in diverse(before) if one not in branch.parents][:1]
        where = f"{self.settings.board} on {self.settings.hardware}, this problem"
        drawn = random.sample(list(self.bank), min(len(self.bank), BANKED - len(own)))
        return [Known(where, one.code, one.speedup) for one in own] + drawn

    async def _branch(
        self,
        name: str,
        round: int,
        branch: Branch,
        bank: Sequence[Known],
        before: Sequence[Candidate],
        places: asyncio.Semaphore,
    ) -> None:
        tried = ideas(before)

        def asked(want: str, count: int, idea: str = "") -> Question:
            return question(self.task, want, count, parents=branch.parents, tried=tried, bank=bank, idea=idea)

        found = [""]
        if branch.ideas:
            await self._ask(f"{name}.ideas", round, branch, asked("ideas", branch.ideas), places)
            found = self.state.answers[f"{name}.ideas"] or [""]
        share, more = divmod(branch.kernels, len(found))
        await _together(
            self._ask(f"{name}.{place}", round, branch, asked("kernels", count, idea), places)
            for place, idea in enumerate(found)
            if (count := share + (place < more))
        )

    async def _ask(self, name: str, round: int, branch: Branch, asked: Question, places: asyncio.Semaphore) -> None:
        if name in self.state.answers:
            return
        async with places:
            try:
                reply = await self.proposer.ask(asked)
            except ProposerFailed as error:
                reply = Reply((), (str(error),), (error.paid,))
        self._answer(name, round, branch, reply, asked)
        for fault in reply.faults:
            self._say(fault)

    def _answer(self, name: str, round: int, branch: Branch, reply: Reply, asked: Question | None = None) -> None:
        idea, prompt = (str(asked.data["idea"]), asked.prompt) if asked else ("", "")
        first = len(self.state.candidates) + 1
        kernels = [
            {
                "number": place,
                "code": one.code,
                "idea": one.idea or idea,
                "parents": [parent.number for parent in branch.parents],
                "origin": dict(one.origin),
                **({"prompt": one.prompt or prompt, "answer": one.answer or one.code} if self.settings.match else {}),
            }
            for place, one in enumerate((one for one in reply.found if one.code), first)
        ]
        thoughts = [one.idea for one in reply.found if not one.code]
        tokens, cost_usd = usage([*(one.origin for one in reply.found), *reply.paid])
        found = {"ideas": thoughts, "kernels": kernels, "faults": list(reply.faults)}
        self._add("answer", question=name, round=round, **found, tokens=tokens, cost_usd=cost_usd)
        for thought in thoughts:
            self._say(f"Idea: {thought}")

    def _leave_out_copies(self) -> None:
        """Leave out the kernels that were tried before, and those beyond the budget."""
        waiting = self.state.waiting()
        new = {one.number for one in waiting}
        known = {one.digest: one.number for one in self.state.candidates.values() if one.number not in new}
        left = self.budget.candidates - self.state.sent
        for one in waiting:
            if one.digest in known:
                self._leave_out(one, f"the same as candidate {known[one.digest]}")
            elif left == 0:
                self._leave_out(one, "beyond the budget of candidates")
            else:
                known[one.digest], left = one.number, left - 1

    def _leave_out(self, one: Candidate, reason: str) -> None:
        self._add("left_out", number=one.number, reason=reason)
        self._say(f"Candidate {one.number} is not sent: {reason}.")

    # -- a batch -------------------------------------------------------------------------------------------------------

    def _next_batch(self, round: int) -> Batch | None:
        """Return the batch that a kill left open, or a new one for the waiting candidates; None: all are judged."""
        if (batch := self.state.open_batch) is not None:
            if batch.id or time.time() - batch.at < KEY_LASTS_S:
                return batch
            for place in batch.numbers:  # before the batch is dropped: a kill in between must not send them again
                self._leave_out(self.state.candidates[place], "it was perhaps sent a day ago, and has no answer")
            self._add("dropped", key=batch.key)
        numbers, size = list[int](), 0
        for one in self.state.waiting():
            size += len(one.code.encode())
            if len(numbers) == self._most or size > MOST_SENT_BYTES:
                break
            numbers.append(one.number)
        left_s = self.budget.device_s - self.state.spent_s
        if not numbers or left_s < 1 or self._left_s() <= 0:
            return None
        best = next(iter(self.state.best()), None)
        bar = min(max(best.ratio or 1.0, LEAST_BAR), MOST_BAR) if best and self.settings.mode == "benchmark" else None
        limits = {"budget_s": min(left_s, MOST_BATCH_S), "bar": bar}
        self._add("batch", key=str(uuid4()), round=round, numbers=numbers, at=time.time(), **limits)
        return self.state.open_batch

    async def _judge(self, batch: Batch) -> None:
        if not batch.id:
            await self._send(batch)
        if self.state.open_batch is batch:
            ended = await self._follow(batch)
            self._add("settled", key=batch.key, spent_s=number(ended.get("spent_s")) or 0.0)

    async def _send(self, batch: Batch) -> None:
        """Send a batch. Candidates that the site refuses by their code are left out, and the batch is dropped.

        A batch that is refused by its size is dropped too, and the next one has half as many. After a refusal that says
        nothing about an earlier try with this key, the batch stays open: the search, begun again, repeats it.
        """
        sent = [self._sent(self.state.candidates[one]) for one in batch.numbers]
        try:
            answer = await self._patiently(
                lambda: self.site.submit_batch(
                    sent,
                    board=self.settings.board,
                    hardware=self.settings.hardware,
                    mode=self.settings.mode,
                    budget_s=batch.budget_s,
                    bar=batch.bar,
                    key=batch.key,
                )
            )
        except Refused as refused:
            fields = ((_PLACE.fullmatch(str(error.get("field") or "")), error) for error in refused.errors)
            named = {int(found.group(1)): str(error.get("message") or "")[:300] for found, error in fields if found}
            is_theirs = refused.status in (400, 413) and bool(named) and max(named) < len(batch.numbers)
            for place, message in named.items() if is_theirs else ():
                self._leave_out(self.state.candidates[batch.numbers[place]], f"the site refuses it: {message}")
            if is_theirs or refused.code in _NOT_TAKEN:
                self._add("dropped", key=batch.key)
            if is_theirs:
                return
            is_size = refused.code == "quota_used_up" or any(one.get("field") == "candidates" for one in refused.errors)
            if refused.code not in _NOT_TAKEN or not is_size or len(sent) == 1:
                raise
            self._most = len(sent) // 2
            self._say(f"{refused}. The search sends {self._most} at once.")
            return
        self._add("sent", key=batch.key, id=answer["id"])
        self._say(f"Batch {answer['id']} is sent: {len(sent)} candidates.")

    def _sent(self, one: Candidate) -> dict[str, Any]:
        """Return a candidate as the site takes it, with its lineage. The same at every try."""
        known = [self.state.candidates[parent].verdict for parent in one.parents]
        lineage = {"strategy": self.settings.strategy, "run": self.settings.run, **lineage_of(one.origin)}
        more: dict[str, Any] = {
            "parents": [verdict.submission for verdict in known if verdict and verdict.submission],
            "idea": one.idea,
            "model": self.settings.model,  # of a match, whatever the endpoint calls it
        }
        return {"code": one.code, "lineage": {**lineage, **{name: value for name, value in more.items() if value}}}

    async def _follow(self, batch: Batch) -> Mapping[str, Any]:
        """Return the settled batch, after the verdicts of its candidates. When the time is over, cancel the rest."""
        is_cancelled = False
        while True:
            if self._left_s() <= 0 and not is_cancelled:
                is_cancelled = True
                self._say("The time is over: the candidates that wait are cancelled.")
                try:
                    await self._patiently(lambda: self.site.cancel_batch(batch.id))
                except Refused as refused:
                    if refused.status != 409:  # it has ended
                        raise
            fresh = await self._patiently(lambda: self.site.batch_feedback(batch.id, batch.arrived, WAIT_S))
            for found in fresh:
                await self._take_verdict(batch, found)
            if not fresh:
                seen = await self._patiently(lambda: self.site.batch(batch.id))
                if seen["settled_at"] and batch.arrived >= seen["arrived"]:
                    return seen
                await asyncio.sleep(0.5)

    async def _take_verdict(self, batch: Batch, found: Mapping[str, Any]) -> None:
        about = mapping(found.get("about"))
        place, arrival, submission = (about.get(name) for name in ("candidate", "arrival", "submission"))
        if not (isinstance(place, int) and isinstance(arrival, int) and 0 < place <= len(batch.numbers)):
            raise SiteProblem("the site's feedback has another shape than this version expects; update one of them")
        text = await self._patiently(lambda: self.site.feedback_text(str(submission)))
        verdict = Verdict.of(found, text.decode("utf-8", "replace"))
        one = self.state.candidates[batch.numbers[place - 1]]
        if self.settings.match:  # before the verdict is in the journal: the site attaches a submission once
            sent = {"submission": verdict.submission, **shortened(one.prompt, one.answer)}
            await self._patiently(lambda: self.site.attach(self.settings.match, [sent]))
        self._add("verdict", number=one.number, arrival=arrival, verdict=asdict(verdict))
        rules = f", held by {', '.join(verdict.held_by)}" if verdict.held_by else ""
        why = f" ({verdict.reason})" if verdict.reason else ""
        speed = f", {1 / verdict.ratio:.3g}×" if verdict.ratio else ""
        self._say(f"Candidate {one.number}: {verdict.outcome.replace('_', ' ')}{why}{speed}{rules}.")

    async def _patiently(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a call until the site answers. A limit of rate or quota is waited for within the search's time."""
        gone_at, attempt = None, 0
        while True:
            try:
                return await send()
            except SiteProblem as error:
                gone_at = gone_at or time.monotonic()
                if time.monotonic() - gone_at > PATIENCE_S:
                    raise
                pause_s, attempt = backoff_s(attempt), attempt + 1
                self._say(str(error))
            except Refused as refused:
                pause_s = float(refused.retry_after_s or 30)
                if refused.status != 429 or pause_s > self._left_s():
                    raise
                gone_at = None
                self._say(f"{refused}")
            await asyncio.sleep(pause_s)


async def _together(parts: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all parts side by side. The first error cancels the others."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for part in parts:
                tasks.create_task(part)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def lineage_of(origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a proposer says of a kernel as the site takes it in a lineage."""
    found: dict[str, Any] = {
        "model": _NOT_IN_MODEL.sub("-", str(origin.get("model") or "")).lstrip("._:/+@-")[:128],
        "prompt_sha256": origin.get("prompt_sha256"),
        "sampling": dict(list(filter(_is_setting, mapping(origin.get("sampling")).items()))[:MOST_SAMPLING]),
        "cost_usd": min(number(origin.get("cost_usd")) or 0.0, MOST_COST_USD),
    }
    return {name: value for name, value in found.items() if value}


def shortened(prompt: str, answer: str) -> dict[str, str]:
    """Return the dialogue behind a kernel within the limits of a match."""
    limits = (("prompt", prompt, MOST_PROMPT_CHARS), ("answer", answer, MOST_ANSWER_CHARS))
    plain = ((name, text.replace("\x00", ""), most) for name, text, most in limits)
    return {name: text if len(text) <= most else text[: most - len(CUT)] + CUT for name, text, most in plain}


def _is_setting(setting: tuple[str, Any]) -> bool:
    """Return whether a model's setting is one that the site takes."""
    name, value = setting
    is_number = isinstance(value, bool) or (number(value) is not None and abs(value) <= MOST_SETTING)
    is_text = isinstance(value, str) and len(value) <= MOST_SETTING_CHARS and value.isprintable()
    return bool(_NAME.fullmatch(name)) and (is_number or is_text)


def _speed(best: Candidate | None) -> str:
    return f"Best: candidate {best.number}, {best.speedup:.3g}×." if best else "No kernel is correct and timed yet."
