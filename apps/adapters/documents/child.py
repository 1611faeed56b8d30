"""The process that reads a file: bytes in, one JSON object out, and nothing else.

    python -P -m apps.adapters.documents.child .SUFFIX < file

It has no keys, addresses or secrets: its environment is empty, and its only input is the file.  The kernel limits its
CPU time and memory, and it cannot write to files.
"""

import json
import os
import resource
import socket
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from apps.adapters.documents.kinds import DocumentKind, kind_of
from apps.adapters.documents.limits import CPU_SECONDS, MAX_CHARACTERS, MEMORY_BYTES, NICENESS
from apps.adapters.documents.refusals import DocumentBroken, DocumentTooLarge, DocumentTooSlow
from apps.core.errors import DomainError

READERS: Final = "apps.adapters.documents.readers"
DEEPEST: Final = 2_000  # recursion limit: a deeper document is refused as broken and does not overflow the stack


def main() -> None:
    suffix, content = sys.argv[1], sys.stdin.buffer.read()
    try:
        answer = read_here(f"file{suffix}", content)
    except MemoryError:
        answer = _refusal(DocumentTooSlow())
    sys.stdout.buffer.write(json.dumps(answer).encode())


def read_here(name: str, content: bytes) -> dict[str, Any]:
    """Read the file in this process; return the answer or a refusal."""
    try:
        kind = kind_of(name, content)
        return {"kind": kind.value, "pieces": list(_limited(_pieces(kind, content)))}
    except DomainError as refusal:
        return _refusal(refusal)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (the libraries raise whatever a broken file makes of them)
        # This includes failed allocations: lxml reports them as syntax errors.
        return _refusal(DocumentTooSlow() if _most_memory() > 0.9 * MEMORY_BYTES else DocumentBroken())


def _most_memory() -> int:
    """Peak address space of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmPeak:"))


def _refusal(refusal: DomainError) -> dict[str, Any]:
    return {"refused": type(refusal).__name__, "message": refusal.message}


def _pieces(kind: DocumentKind, content: bytes) -> Iterator[str]:
    pieces: Iterator[str] = import_module(f"{READERS}.{kind.value}").read(content)
    return pieces


def _limited(pieces: Iterator[str]) -> Iterator[str]:
    met = 0
    for piece in pieces:
        # A lone surrogate is no character and could not be stored.
        text = piece.encode("utf-8", "replace").decode()
        met += len(text)
        if met > MAX_CHARACTERS:
            raise DocumentTooLarge
        if text.strip():
            yield text


def confine() -> None:
    """Set the resource limits of this process, and disable sockets."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    sys.setrecursionlimit(DEEPEST)
    socket.socket = _NoSocket  # type: ignore[assignment,misc]  # no library here needs one, and none may open one


class _NoSocket:
    def __init__(self, *_: object, **__: object) -> NoReturn:
        raise OSError("no network here")


if __name__ == "__main__":
    confine()
    main()
