"""Proposers: a command that reads JSON and writes JSON lines, and an endpoint that speaks the chat protocol of OpenAI.

Their answers have limits of size and time. A fault that concerns a single question is a ProposerFailed, and the search
goes on; a wrong setting is a Misuse and ends it. The key of an endpoint never leaves this module: it is removed from
every text, also from the endpoint's own.
"""

import asyncio
import hashlib
import json
import os
import shlex
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import httpx

from ...source import read_code
from ..account import Misuse, SiteProblem, is_loopback
from ..clients import backoff_s, connection, request_of
from ..values import mapping, mappings, number
from .prompts import SYSTEM, Question, one_line, read_ideas

MOST_ANSWER_BYTES: Final = 8_000_000
MOST_CODE_BYTES: Final = 1_000_000  # limit of a submission
MOST_ERROR_BYTES: Final = 64_000
MOST_WAIT_S: Final = 600.0  # for an endpoint that limits or fails, in all tries of a question
TRIES: Final = 6
KEY_NAME: Final = "PROPOSER_API_KEY"
LEAST_SECRET: Final = 8  # characters of a key; a shorter one is a placeholder, and kernels may have it as a word
_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class ProposerFailed(SiteProblem):
    """A question without a usable answer."""

    def __init__(self, message: str, paid: Mapping[str, Any] | None = None) -> None:
        """`paid`: usage and cost_usd of the answer that is of no use."""
        super().__init__(message)
        self.paid = paid or {}


@dataclass(frozen=True)
class Proposed:
    """A kernel, or an idea without code."""

    code: str = ""
    idea: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)  # model, prompt_sha256, sampling, cost_usd, usage
    prompt: str = ""  # the exact text that was sent, with that of the system; "": the question's
    answer: str = ""  # the whole text that the code was read from; "": the code alone


@dataclass(frozen=True)
class Reply:
    found: tuple[Proposed, ...]
    faults: tuple[str, ...] = ()  # of parts of the answer
    paid: tuple[Mapping[str, Any], ...] = ()  # usage and cost_usd beyond those in the origins of `found`


class Proposer(Protocol):
    name: str  # for people, without secrets

    async def ask(self, question: Question) -> Reply:
        """Answer a question. Raises ProposerFailed, Misuse."""
        ...

    async def close(self) -> None: ...


class CommandProposer:
    """A command, started once for each question: a JSON object on stdin, an answer's JSON lines on stdout."""

    def __init__(self, command: str, timeout_s: float) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise Misuse(f"proposer: {command!r} cannot be split into words: {error}") from None
        if not self._words:
            raise Misuse("proposer: is empty; give a command, or the address of an endpoint")
        self.name, self._timeout_s = self._words[0], timeout_s

    async def ask(self, question: Question) -> Reply:
        sent = json.dumps(question.data).encode()
        code, out, err = await self._run(sent)
        if code:
            last = err.decode("utf-8", "replace").strip().split("\n")[-1][:300]
            raise ProposerFailed(f"proposer: {self.name} ended with code {code}{f': {last}' if last else ''}")
        digest, found, faults = hashlib.sha256(sent).hexdigest(), list[Proposed](), list[str]()
        paid = list[Mapping[str, Any]]()
        for place, line in enumerate(out.decode("utf-8", "replace").split("\n"), 1):
            if not line.strip():
                continue
            if len(found) == question.count:
                faults.append(
                    f"line {place} and all after it: more than the {question.count} {question.want} asked for"
                )
                break
            answer = None
            try:
                answer = json.loads(line)
                found.append(_proposed(answer, question.want, digest))
            except (ValueError, RecursionError) as error:
                paid.append(_cost(mapping(answer).get("cost_usd")))
                faults.append(f"line {place}: {error if type(error) is ValueError else 'is not JSON'}")
        return Reply(tuple(found), tuple(faults), tuple(paid))

    async def close(self) -> None:
        pass

    async def _run(self, sent: bytes) -> tuple[int, bytes, bytes]:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            raise Misuse(f"proposer: {self.name}: {error.strerror}; give a command that can be started") from None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(self._timeout_s):
                _, out, err = await asyncio.gather(
                    _write(process.stdin, sent),
                    _read(process.stdout, MOST_ANSWER_BYTES, is_strict=True),
                    _read(process.stderr, MOST_ERROR_BYTES),
                )
                return await process.wait(), out, err
        except TimeoutError:
            raise ProposerFailed(f"proposer: {self.name} gave no answer in {self._timeout_s:g} s") from None
        finally:
            _kill(process)
            process._transport.close()  # type: ignore[attr-defined]  # pipes that were not read to their end


async def _write(stream: asyncio.StreamWriter, sent: bytes) -> None:
    try:
        stream.write(sent)
        await stream.drain()
        stream.close()
    except (BrokenPipeError, ConnectionResetError):
        pass  # a command need not read the question


async def _read(stream: asyncio.StreamReader, most: int, *, is_strict: bool = False) -> bytes:
    """Return the first bytes of a stream, and read the rest to its end. `is_strict`: a longer stream is an error."""
    kept = bytearray()
    while part := await stream.read(65_536):
        kept += part[: most - len(kept)]
        if is_strict and len(kept) == most:
            raise ProposerFailed(f"proposer: the answer has more than {most:,} bytes")
    return bytes(kept)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a command with its children."""
    try:
        os.killpg(process.pid, 9)
    except (ProcessLookupError, PermissionError):
        pass
    except AttributeError:  # Windows has no process groups
        if process.returncode is None:
            process.kill()


def _proposed(answer: object, want: str, digest: str) -> Proposed:
    """Read a line of a command. Raises ValueError with a sentence."""
    if not isinstance(answer, dict):
        raise ValueError("is not a JSON object")
    key = "idea" if want == "ideas" else "code"
    text = answer.get(key)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{key}: {json.dumps(text)[:80]} is not a text; expected one in answer to “{want}”")
    idea, cost, model = one_line(str(answer.get("idea") or "")), _cost(answer.get("cost_usd")), answer.get("model")
    if want == "ideas":
        return Proposed(idea=idea, origin=cost)
    origin: dict[str, Any] = {"prompt_sha256": digest, "sampling": mapping(answer.get("sampling")), **cost}
    origin |= {"model": model[:128]} if isinstance(model, str) else {}
    said = answer.get("answer")
    return Proposed(_checked(text), idea, origin, answer=_whole(said) if isinstance(said, str) else "")


def _cost(value: object) -> dict[str, Any]:
    """Return the field cost_usd of an origin, for a cost that an answer names."""
    cost = number(value)
    return {"cost_usd": cost} if cost is not None and cost >= 0 else {}


def _checked(code: str) -> str:
    """Return a source that the site can take by its size. Raises ValueError."""
    code = _whole(code)
    size = len(code.encode())
    if size > MOST_CODE_BYTES:
        raise ValueError(f"code: {size:,} bytes; a submission has at most {MOST_CODE_BYTES:,}")
    return code


def _whole(text: str) -> str:
    """Return a text that can be sent: JSON may have lone surrogates."""
    return text.encode("utf-8", "replace").decode()


class _Again(Exception):
    """A fault that may pass."""

    def __init__(self, message: str, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


class ChatProposer:
    """An endpoint of the chat protocol: POST …/chat/completions."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        model: str,
        timeout_s: float,
        sampling: Mapping[str, Any] | None = None,
        insecure: bool = False,
    ) -> None:
        """`sampling`: further fields of each request, such as temperature. Raises Misuse."""
        base = _address(url)
        if key and not insecure and not base.startswith("https:") and not is_loopback(base):
            raise Misuse(
                f"proposer: {base} is not https, and a key sent there can be read on the way; use https, or "
                "--insecure where you trust the network"
            )
        if not model:
            raise Misuse(f"model: missing; name the model of {base} with --model")
        if not key.isascii() or not key.isprintable() or len(key) > 4_096:
            raise Misuse(f"{KEY_NAME}: is not a key; copy it whole")
        self.name, self._key, self._timeout_s = f"{model} at {base}", key, timeout_s
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._model, self._sampling = model, dict(sampling or {})
        self._http = connection(
            httpx.AsyncClient,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(timeout_s, connect=10.0),
            follow_redirects=False,
            trust_env=not is_loopback(base),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, question: Question) -> Reply:
        if question.want == "ideas":
            text, origin = await self._complete(question.prompt)
            found = tuple(Proposed(idea=idea) for idea in read_ideas(text, question.count))
            faults = () if found else ("no line of the answer is an idea: none begins with “- ”",)
            return Reply(found, faults, (origin,))
        answers = await asyncio.gather(
            *(self._kernel(question.prompt) for _ in range(question.count)), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, ProposerFailed):
                raise answer
        failed = [answer for answer in answers if isinstance(answer, ProposerFailed)]
        kernels = tuple(answer for answer in answers if isinstance(answer, Proposed))
        return Reply(kernels, tuple(map(str, failed)), tuple(answer.paid for answer in failed))

    async def _kernel(self, prompt: str) -> Proposed:
        text, origin = await self._complete(prompt)
        try:
            code = _checked(read_code(text))
        except ValueError as error:
            raise ProposerFailed(f"proposer: {error}", origin) from None
        if not code.strip():
            raise ProposerFailed("proposer: the answer has no fenced code block", origin)
        return Proposed(code, origin=origin, prompt=f"{SYSTEM}\n\n{prompt}", answer=text)

    async def _complete(self, prompt: str) -> tuple[str, dict[str, Any]]:
        """Return the text of a completion, and its origin."""
        prompt = _whole(prompt)
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
        answer = await self._tried({"model": self._model, "messages": messages, **self._sampling})
        usage = mapping(answer.get("usage"))
        counts = {
            name: usage[name] for name in ("prompt_tokens", "completion_tokens") if isinstance(usage.get(name), int)
        }
        origin: dict[str, Any] = {
            "model": self._hidden(str(answer.get("model") or self._model)),
            "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest(),
            "sampling": self._sampling,
            "usage": counts,
            **_cost(usage.get("cost")),
        }
        choice = next(iter(mappings(answer.get("choices"))), {})
        message = mapping(choice.get("message"))
        content = message.get("content")
        if isinstance(content, list):  # some endpoints send parts
            content = "".join(str(part.get("text") or "") for part in mappings(content))
        if not isinstance(content, str) or not content.strip():
            refusal = str(message.get("refusal") or "")
            stopped = str(choice.get("finish_reason") or "")
            why = f"refuses: {refusal}" if refusal else f"is empty{f' ({stopped})' if stopped else ''}"
            raise ProposerFailed(self._hidden(f"proposer: the answer {why}"), origin)
        if choice.get("finish_reason") == "length":
            raise ProposerFailed("proposer: the answer was cut off; raise --max-tokens", origin)
        return self._hidden(content), origin

    async def _tried(self, body: Mapping[str, Any]) -> dict[str, Any]:
        give_up_at, attempt = time.monotonic() + MOST_WAIT_S, 0
        while True:
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._once(body)
            except TimeoutError:
                fault = _Again(f"gave no answer in {self._timeout_s:g} s")
            except (httpx.HTTPError, UnicodeError) as error:
                fault = _Again(f"no answer ({type(error).__name__})")
            except _Again as error:
                fault = error
            attempt += 1
            pause_s = backoff_s(attempt) if fault.after_s is None else fault.after_s
            if attempt == TRIES or time.monotonic() + pause_s > give_up_at:
                raise ProposerFailed(self._hidden(f"proposer: {self._url}: {fault}; tried {attempt} times"))
            await asyncio.sleep(pause_s)

    async def _once(self, body: Mapping[str, Any]) -> dict[str, Any]:
        request = request_of(self._http, "POST", self._url, json=body)
        async with aclosing(await self._http.send(request, stream=True)) as response:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > MOST_ANSWER_BYTES:
                    raise ProposerFailed(f"proposer: {self._url}: the answer has more than {MOST_ANSWER_BYTES:,} bytes")
        status = response.status_code
        try:
            answer = mapping(json.loads(bytes(content)))
        except (ValueError, RecursionError):
            answer = {}
        if 200 <= status < 300:
            if not answer:
                raise ProposerFailed(f"proposer: {self._url}: the answer is not a JSON object; is the address right?")
            return answer
        if status in (401, 403):  # its text may repeat a part of the key
            raise Misuse(f"proposer: {self._url} refuses the key ({status}); set {KEY_NAME} to a key of this endpoint")
        error = answer.get("error")
        detail = " ".join(str(mapping(error).get("message") or error or "").split())[:300]
        text = f"answers {status}{f': {detail}' if detail else ''}"
        if status in _AGAIN:
            raise _Again(text, _retry_after_s(response.headers.get("Retry-After", "")))
        if status == 404 or 300 <= status < 400:
            raise Misuse(self._hidden(f"proposer: {self._url} {text}; check its address and --model"))
        raise ProposerFailed(self._hidden(f"proposer: {self._url} {text}"))

    def _hidden(self, text: str) -> str:
        return text.replace(self._key, "[key]") if len(self._key) >= LEAST_SECRET else text


def _address(url: str) -> str:
    """Return the address of an endpoint. Raises Misuse."""
    try:
        parts = urlsplit(url.strip())
        httpx.URL(url.strip())
        fits = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except (ValueError, httpx.InvalidURL):
        fits = False
    if not fits or parts.username or parts.password or parts.query or parts.fragment:
        example = "https://api.example/v1"
        raise Misuse(f"proposer: this is not an address such as {example}; the key belongs into {KEY_NAME}")
    return url.strip().rstrip("/")


def _retry_after_s(value: str) -> float | None:
    """Return the seconds of a header Retry-After, which has seconds or a date."""
    if value.isascii() and value.isdecimal() and len(value) < 10:
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def make_proposer(
    given: str, *, key: str, model: str, timeout_s: float, sampling: Mapping[str, Any], insecure: bool
) -> Proposer:
    """Return the proposer for a command or an address. Raises Misuse."""
    if given.lower().startswith(("http://", "https://")):
        return ChatProposer(given, key=key, model=model, timeout_s=timeout_s, sampling=sampling, insecure=insecure)
    return CommandProposer(given, timeout_s)
