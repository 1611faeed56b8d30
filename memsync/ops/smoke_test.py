"""Smoke test: add one memory through HTTP and recall it, as a user would."""

import json
import time
import urllib.error
import urllib.request
from typing import Any

END_USER = "memsync-probe"
TEXT = "The lighthouse keeper drinks green tea on the western balcony every morning."
QUESTION = "What does the keeper of the lighthouse drink?"
CLIENT_REF = "memsync-up-probe"  # makes adds idempotent across starts
PATIENCE = 20.0  # seconds


class ProbeFailed(Exception):
    """The smoke test failed.  Names the request, status and error code, no content."""


class SmokeTestRefused(ProbeFailed):
    """The smoke test's API key is unknown, revoked or expired."""


def is_healthy(url: str) -> bool:
    """Whether the server responds, though parts of it may be unhealthy."""
    return unhealthy_parts(url) is not None


def unhealthy_parts(url: str) -> list[str] | None:
    """The names of the parts that GET /health calls unhealthy; None if the server does not respond."""
    try:
        status, answer = _call("GET", f"{url}/health")
    except OSError:
        return None
    return [name for name, state in answer.items() if state == "unhealthy"] if status == 200 else None


def add_and_query(url: str, key: str) -> None:
    """Add a memory and recall it, retrying for up to PATIENCE seconds.  Raises ProbeFailed if that fails."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            _add(url, key)
            _query(url, key)
        except SmokeTestRefused:
            raise
        except (OSError, ProbeFailed) as error:
            if time.monotonic() > deadline:
                raise ProbeFailed(f"The first memory did not come back: {error}") from error
            time.sleep(0.25)
        else:
            return


def _add(url: str, key: str) -> None:
    body = {"text": TEXT, "importance": 0.6, "client_ref": CLIENT_REF, "source": "probe"}
    status, answer = _call("POST", f"{url}/memory/add", key, body)
    if status not in (200, 201):
        raise ProbeFailed(f"POST /memory/add answered {status} {_code(answer)}")


def _query(url: str, key: str) -> None:
    status, answer = _call("POST", f"{url}/memory/query", key, {"query": QUESTION, "k": 3})
    if status != 200:
        raise ProbeFailed(f"POST /memory/query answered {status} {_code(answer)}")
    if not any(memory.get("text") == TEXT for memory in answer.get("memories", [])):
        raise ProbeFailed("POST /memory/query did not find it")


def _call(method: str, url: str, key: str = "", body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url, method=method)  # noqa: S310
    request.add_header("Accept", "application/json")
    if key:
        request.add_header("X-API-Key", key)
        request.add_header("X-End-User-ID", END_USER)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy: it is our own server
    try:
        with opener.open(request, timeout=10) as response:
            return response.status, _object(response.read())
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 401:
                raise SmokeTestRefused("the probe's key was refused") from error
            return error.code, _object(error.read())


def _object(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(raw)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _code(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    return str(error.get("code", "")) if isinstance(error, dict) else ""
