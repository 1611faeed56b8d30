"""Clients of event streams, in a process without Django: they connect, break off, and go on from their position."""

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final
from urllib.parse import urlsplit

END_USERS: Final = 50
PATIENCE_SECONDS: Final = 20.0  # without an event, after which what has not arrived counts as lost
_EVENT: Final = re.compile(rb'"at":([\d.]+),"number":(\d+)')


@dataclass
class _Listener:
    """end_user: None for all of them.  position: as an EventSource would send it.  seen: numbers of events."""

    end_user: int | None
    position: str = ""
    seen: set[int] = field(default_factory=set)
    doubled: int = 0
    connections: int = 0
    delays: list[float] = field(default_factory=list)

    async def listen(self, plan: dict[str, Any], *, until: float, is_connected: Callable[[], None]) -> None:
        """Listen until this time; if it is in the past, until cancelled."""
        address = urlsplit(plan["url"])
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        lines = [f"GET /v1/events/stream HTTP/1.0\r\nHost: {address.netloc}\r\nX-API-Key: {plan['key']}"]
        lines += [f"X-End-User-ID: user {self.end_user}"] if self.end_user is not None else []
        lines += [f"Last-Event-ID: {self.position}"] if self.position else []
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head.partition(b"\r\n")[0]:
                raise RuntimeError(head.partition(b"\r\n")[0].decode())
            self.connections += 1
            async with asyncio.timeout_at(until):
                rest = b""
                while piece := await reader.read(65_536):
                    *blocks, rest = (rest + piece).split(b"\n\n")
                    self._take(blocks)
                    is_connected()
        except TimeoutError:
            pass
        finally:
            writer.transport.abort()  # as a broken connection

    def _take(self, blocks: list[bytes]) -> None:
        now = time.time()
        for block in blocks:
            if found := re.search(rb"(?m)^id: (\d+)$", block):
                self.position = found[1].decode()
            if found := _EVENT.search(block):
                number = int(found[2])
                self.doubled += number in self.seen
                self.seen.add(number)
                self.delays.append(now - float(found[1]))

    def lost(self, written: int) -> int:
        mine = range(0 if self.end_user is None else self.end_user, written, 1 if self.end_user is None else END_USERS)
        return len(set(mine) - self.seen)


def listen(pipe: Connection, plan: dict[str, Any]) -> None:
    """Say how many are connected; begin to break off when told to, and report when told how many events there were."""
    asyncio.run(_all_listen(pipe, plan))


async def _all_listen(pipe: Connection, plan: dict[str, Any]) -> None:
    every = [_Listener(None if one < plan["of_all"] else one % END_USERS) for one in range(plan["listeners"])]
    connected: set[int] = set()
    go, loop = asyncio.Event(), asyncio.get_running_loop()

    async def keep_listening(one: _Listener, drawn: random.Random) -> None:
        turn = plan["seconds"] / (plan["reconnects"] + 1)
        until = loop.time() + 3_600.0  # until the others are connected too
        first = asyncio.create_task(one.listen(plan, until=until, is_connected=lambda: connected.add(id(one))))
        await go.wait()
        await asyncio.sleep(turn * drawn.random())
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        for left in range(plan["reconnects"], 0, -1):
            span = turn * (0.5 + drawn.random()) if left > 1 else 3_600.0
            await one.listen(plan, until=loop.time() + span, is_connected=lambda: None)

    tasks = [asyncio.create_task(keep_listening(one, random.Random(place))) for place, one in enumerate(every)]
    while len(connected) < len(every):
        await asyncio.sleep(0.1)
        for task in tasks:
            if task.done():
                task.result()
    pipe.send(len(connected))
    await asyncio.to_thread(pipe.recv)
    go.set()
    written = await asyncio.to_thread(pipe.recv)
    received, ended_at = 0, loop.time()
    while any(one.lost(written) for one in every) and loop.time() < ended_at + PATIENCE_SECONDS:
        if (now := sum(len(one.delays) for one in every)) > received:
            received, ended_at = now, loop.time()
        await asyncio.sleep(0.5)
    delays = sorted(delay for one in every for delay in one.delays)
    pipe.send(
        {
            "connections": sum(one.connections for one in every),
            "received": len(delays),
            "lost": sum(one.lost(written) for one in every),
            "doubled": sum(one.doubled for one in every),
            "p50 ms": round(1000 * delays[len(delays) // 2]),
            "p95 ms": round(1000 * delays[int(len(delays) * 0.95)]),
            "longest ms": round(1000 * delays[-1]),
        }
    )
    await asyncio.to_thread(pipe.recv)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
