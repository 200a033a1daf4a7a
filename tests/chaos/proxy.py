"""A small proxy between clients and the web hosts that loses, delays and repeats HTTP messages.

Each request has a connection of its own. A web host that takes no connection is passed over for the next, as a load
balancer does. Requests and answers pass whole; there are no streams.
"""

import asyncio
import contextlib
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

CONNECT_S: Final = 1.0
ANSWER_S: Final = 60.0
MOST_BYTES: Final = 32_000_000
DROP, DELAY, DUPLICATE = "drop", "delay", "duplicate"
SHARE: Final = 0.5  # of the requests that a fault hits
LONGEST_DELAY_S: Final = 12.0  # longer than a runner waits
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_CONNECTION: Final = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)


class Proxy:
    """Way from the clients at `address` to the web hosts. `fault` happens to their messages now."""

    def __init__(self, address: tuple[str, int], hosts: list[tuple[str, int]], seed: int) -> None:
        self.address, self._hosts = address, list(hosts)
        self._random = random.Random(seed)
        self.fault = ""
        self.hit: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            fault = self.fault if self._random.random() < SHARE else ""
            if fault:
                self.hit[fault] += 1
            request = _CONNECTION.sub(b"", head[:-2]) + b"Connection: close\r\n\r\n" + body
            if fault == DUPLICATE:
                answers = await asyncio.gather(self._ask(request), self._ask(request))
                answer = answers[1] or answers[0]
            else:
                answer = await self._ask(request)
            if fault == DELAY:
                await asyncio.sleep(self._random.uniform(0.5, LONGEST_DELAY_S))
            if fault != DROP:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client sees a connection that ends
        finally:
            writer.close()

    async def _ask(self, request: bytes) -> bytes:
        """Return a web host's answer; b"" if none gives one."""
        self._hosts.append(self._hosts.pop(0))
        for host in list(self._hosts):
            try:
                reader, writer = await asyncio.wait_for(asyncio.open_connection(*host), CONNECT_S)
            except (OSError, TimeoutError):
                continue
            try:
                writer.write(request)
                return await asyncio.wait_for(reader.read(-1), ANSWER_S)
            except (OSError, TimeoutError):
                return b""
            finally:
                writer.close()
        return b""


@contextmanager
def running(proxies: list[Proxy]) -> Iterator[None]:
    """Run the proxies in a thread."""
    loop = asyncio.new_event_loop()
    ready, ended = threading.Event(), asyncio.Event()
    failures: list[BaseException] = []

    async def serve() -> None:
        async with contextlib.AsyncExitStack() as stack:
            for proxy in proxies:
                server = await asyncio.start_server(proxy.serve, *proxy.address, limit=MOST_BYTES)
                await stack.enter_async_context(server)
            ready.set()
            await ended.wait()
            open_requests = asyncio.all_tasks() - {asyncio.current_task()}
            for task in open_requests:
                task.cancel()
            await asyncio.gather(*open_requests, return_exceptions=True)

    def work() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="proxies")
    thread.start()
    ready.wait()
    if failures:
        raise failures[0]
    try:
        yield
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
        loop.close()
