"""A small balancer for tests: it gives each connection to a host whose /readyz answers 200, in turn."""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

LOOK_S = 0.2


class Balancer:
    """Port of the site, and the ports of its hosts."""

    def __init__(self, port: int, hosts: list[int]) -> None:
        self._port, self._hosts = port, hosts
        self._ready: list[int] = []
        self.taken: Counter[int] = Counter()  # connections, by host

    def is_ready(self, host: int) -> bool:
        return host in self._ready

    async def run(self, ended: asyncio.Event) -> None:
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", self._port)
        async with server, httpx.AsyncClient(trust_env=False, timeout=5) as client:
            looking = [asyncio.create_task(self._look(client, host)) for host in self._hosts]
            await ended.wait()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.gather(*looking, return_exceptions=True)

    async def _look(self, client: httpx.AsyncClient, host: int) -> None:
        while True:
            is_ready = False
            with contextlib.suppress(httpx.HTTPError):
                is_ready = (await client.get(f"http://127.0.0.1:{host}/readyz")).status_code == 200
            if is_ready and host not in self._ready:
                self._ready.append(host)
            elif not is_ready and host in self._ready:
                self._ready.remove(host)
            await asyncio.sleep(LOOK_S)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ready.append(host := self._ready.pop(0))
        self.taken[host] += 1
        answers, asks = await asyncio.open_connection("127.0.0.1", host)
        await asyncio.gather(_pump(reader, asks), _pump(answers, writer))


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    sink.close()


@contextmanager
def balanced(port: int, hosts: list[int]) -> Iterator[Balancer]:
    """Run a balancer in a thread."""
    balancer, loop, ended = Balancer(port, hosts), asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(balancer.run(ended),))
    thread.start()
    try:
        yield balancer
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
        loop.close()
