"""A client of the typed memories of one profile, written from the published contract and nothing else.

It sends and reads what the contract promises, so a test that passes with it passes with the contract's own clients.
One address is this product's: the turns of a session lie beside the session, for there are no routes of databases.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict
from urllib.parse import quote, urlencode

import httpx

TXID = "Memoturn-Txid"


class Result(TypedDict):
    """What became of one memory of a batch: ``status`` is created, duplicate or revived."""

    id: str
    status: str
    superseded: list[str]


class Ingested(TypedDict):
    results: list[Result]
    txid: int


class Recalled(TypedDict):
    memories: list[dict[str, Any]]
    txid: int


class Answer(TypedDict):
    answer: str | None
    sources: list[str]
    memories: list[dict[str, Any]]
    txid: int


class Extracted(TypedDict, total=False):
    """``results``: only of a run that writes; so is ``pending``, of this product alone: what waits for review."""

    proposed: list[dict[str, Any]]
    results: list[Result]
    pending: list[dict[str, Any]]
    txid: int


class ProfileError(Exception):
    """What the server refused: its status and, of those with the contract's envelope, its code."""

    def __init__(self, status: int, code: str | None, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message


class ProfileClient:
    """The memories of ``profile`` in ``namespace``.  Threads may share it.

    source: the label of every memory that is ingested or extracted without one of its own.
    ``txid``: the highest transaction that any answer so far has named in its header; None before the first.
    Methods with ``min_txid`` ask for an answer that is no older than this transaction.
    """

    def __init__(
        self,
        namespace: str,
        profile: str,
        *,
        key: str | None,
        transport: httpx.BaseTransport,
        url: str = "http://testserver",
        source: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.source = source
        self.txid: int | None = None
        self._memory = f"/v1/memory/{_quoted(namespace)}"
        self._namespace = f"/v1/namespaces/{_quoted(namespace)}"
        self._profile = f"{self._memory}/{_quoted(profile)}"
        self._lock = threading.Lock()
        own = {"X-API-Key": key} if key else {}
        self._http = httpx.Client(base_url=url, transport=transport, headers=own | dict(headers or {}), timeout=30)

    def close(self) -> None:
        self._http.close()

    def ingest(self, *memories: Mapping[str, Any], source: str | None = None) -> Ingested:
        """All or none of them.  source: of those that name none, in place of the client's."""
        label = source or self.source
        batch = [{"source": label} | dict(one) if label else dict(one) for one in memories]
        answer: Ingested = self._ask("POST", "/memories", {"memories": batch})
        return answer

    def recall(self, query: str | None = None, *, min_txid: int | None = None, **options: Any) -> Recalled:
        """options: embedding, topic_key, types, session_id, source, k, include_superseded."""
        asked = options if query is None else {"query": query} | options
        answer: Recalled = self._ask("POST", "/recall", asked, min_txid=min_txid)
        return answer

    def ask(self, question: str, *, min_txid: int | None = None, **options: Any) -> Answer:
        """options: types, session_id, source, k, include_superseded."""
        answer: Answer = self._ask("POST", "/ask", {"question": question} | options, min_txid=min_txid)
        return answer

    def extract(
        self,
        turns: Sequence[Mapping[str, str]],
        *,
        session_id: str | None = None,
        source: str | None = None,
        dry_run: bool = False,
    ) -> Extracted:
        body: dict[str, Any] = {"turns": list(turns), "dry_run": dry_run}
        if session_id is not None:
            body["session_id"] = session_id
        if label := source or self.source:
            body["source"] = label
        answer: Extracted = self._ask("POST", "/extract", body)
        return answer

    def get(self, memory_id: str, *, min_txid: int | None = None) -> dict[str, Any] | None:
        """None where there is no such memory."""
        return self._find(f"/memories/{_quoted(memory_id)}", min_txid=min_txid)

    def forget(self, memory_id: str) -> bool:
        """Whether there was such a memory."""
        try:
            self._ask("DELETE", f"/memories/{_quoted(memory_id)}")
        except ProfileError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return False
            raise
        return True

    def sessions(self, *, limit: int | None = None) -> list[dict[str, Any]]:
        """Most recently active first."""
        query = "" if limit is None else f"?limit={limit}"
        found: list[dict[str, Any]] = self._ask("GET", f"/sessions{query}")["sessions"]
        return found

    def end_session(self, session_id: str, *, turns: bool = False) -> None:
        self._ask("DELETE", f"/sessions/{_quoted(session_id)}{'?turns=true' if turns else ''}")

    def append_turn(self, session_id: str, role: str, content: str, *, embedding: Sequence[float] | None = None) -> int:
        """Its number in the session."""
        body: dict[str, Any] = {"role": role, "content": content}
        if embedding is not None:
            body["embedding"] = list(embedding)
        number: int = self._ask("POST", f"/sessions/{_quoted(session_id)}/turns", body)["seq"]
        return number

    def turns(self, session_id: str, *, last: int | None = None) -> list[dict[str, Any]]:
        query = "" if last is None else f"?last={last}"
        found: list[dict[str, Any]] = self._ask("GET", f"/sessions/{_quoted(session_id)}/turns{query}")["turns"]
        return found

    def erase(self, **target: Any) -> dict[str, Any]:
        """target: memory_id, or topic_key and type, or session_id (and turns)."""
        coupon: dict[str, Any] = self._ask("POST", "/erasures", target)
        return coupon

    def erasures(self) -> list[dict[str, Any]]:
        """Newest first."""
        found: list[dict[str, Any]] = self._ask("GET", "/erasures")["erasures"]
        return found

    def erasure(self, erasure_id: str) -> dict[str, Any] | None:
        """None where there is no such erasure."""
        return self._find(f"/erasures/{_quoted(erasure_id)}")

    def cancel_erasure(self, erasure_id: str) -> dict[str, Any]:
        """Of this product alone: the contract has no way to take back what was asked."""
        coupon: dict[str, Any] = self._ask("DELETE", f"/erasures/{_quoted(erasure_id)}")
        return coupon

    def policy(self) -> dict[str, Any]:
        """``override``, None if the profile has none, and ``effective``."""
        found: dict[str, Any] = self._ask("GET", "/policy")
        return found

    def set_policy(self, policy: Mapping[str, Any] | None) -> dict[str, Any]:
        """None clears it."""
        done: dict[str, Any] = self._ask("PUT", "/policy", {"policy": policy})
        return done

    def namespace_policy(self) -> dict[str, Any] | None:
        """None where there is none."""
        return self._find(f"{self._namespace}/policy")

    def set_namespace_policy(self, policy: Mapping[str, Any] | None) -> dict[str, Any]:
        done: dict[str, Any] = self._ask("PUT", f"{self._namespace}/policy", {"policy": policy})
        return done

    def audit(self, **filters: Any) -> dict[str, Any]:
        """Of the namespace.  filters: from, to, action, profile, outcome, limit, cursor."""
        return self._audit(f"{self._namespace}/audit", filters)

    def profile_audit(self, **filters: Any) -> dict[str, Any]:
        """Of this product alone: of the profile."""
        return self._audit("/audit", filters)

    def _audit(self, path: str, filters: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", f"{path}?{urlencode(filters)}" if filters else path)
        return found

    def namespace_token(self, scope: str, *, expires_in: int | None = None) -> dict[str, Any]:
        """``token``, and what it is."""
        return self._token(f"{self._namespace}/tokens", scope, expires_in)

    def profile_token(self, scope: str, *, expires_in: int | None = None) -> dict[str, Any]:
        """As ``namespace_token``, at an address of this product: there are no routes of databases."""
        return self._token("/tokens", scope, expires_in)

    def _token(self, path: str, scope: str, expires_in: int | None) -> dict[str, Any]:
        body: dict[str, Any] = {"scope": scope}
        if expires_in is not None:
            body["expires_in"] = expires_in
        made: dict[str, Any] = self._ask("POST", path, body)
        return made

    def profiles(self) -> list[str]:
        """Names of the namespace's profiles."""
        answer = _checked(self.request("GET", self._memory))
        return [one["profile"] for one in answer["profiles"]]

    def request(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """The answer as it is.  body: bytes as they are, anything else as JSON.  path: below the profile, or of /v1."""
        address = path if path.startswith("/v1/") else self._profile + path
        kind = {"Content-Type": "application/json"} if isinstance(body, bytes) else {}
        sent = {"content": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        response = self._http.request(method, address, headers=kind | dict(headers or {}), **sent)
        if (named := response.headers.get(TXID)) is not None:
            with self._lock:
                self.txid = max(int(named), self.txid or 0)
        return response

    def _ask(self, method: str, path: str, body: Any = None, *, min_txid: int | None = None) -> Any:
        headers = {} if min_txid is None else {"Memoturn-Min-Txid": str(min_txid)}
        return _checked(self.request(method, path, body, headers=headers))

    def _find(self, path: str, *, min_txid: int | None = None) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._ask("GET", path, min_txid=min_txid)
        except ProfileError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise
        return found


def _checked(response: httpx.Response) -> Any:
    """The body; None of an answer without one.  Raises ProfileError."""
    if response.is_success:
        return response.json() if response.content else None
    try:
        told = response.json()
        code, message = told["code"], told["error"]
    except (ValueError, KeyError, TypeError):  # 408 and 413 may come from a proxy
        code, message = None, response.text
    raise ProfileError(response.status_code, code, str(message))


def _quoted(segment: str) -> str:
    return quote(segment, safe="")
