"""Every way in, with a canary wherever a caller can put text.

Left out, being plain by design and said to be so: names of tenants, projects and API keys, the labels `source` and
`event_type`, and an X-Request-ID that is made like an id, which is echoed and logged to be found again.
"""

import json
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg

from benchmarks.browser import Browser
from tests.canaries.canary import Family

ROOT = Path(__file__).resolve().parents[2]
NAME = "field name"  # the door of names of fields and parameters
MOST_LOST = 60  # requests that had to be sent again, of a whole run


@dataclass
class Visitor:
    """A caller with a production key and the passwords of operator and owner, and what they received.

    told: what receivers of webhooks got.  headers: of every answer of the console.  owner_at_work, operator_at_work:
    their browsers, once signed in.  space: the address of one at the console.  connected: closes every connection of
    the visitor.
    """

    url: str
    home: Path
    key: str
    operator: dict[str, str]
    owner: dict[str, str]
    tenant: str
    owner_url: str
    environment: dict[str, str]
    family: Family
    refusals: list[bytes] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    commands: list[bytes] = field(default_factory=list)
    lost: int = 0
    told: list[bytes] = field(default_factory=list)
    headers: list[bytes] = field(default_factory=list)
    owner_at_work: Any = None
    operator_at_work: Browser | None = None
    space: str = ""

    def __post_init__(self) -> None:
        self.connected = ExitStack()
        self.http = self.connected.enter_context(httpx.Client(base_url=self.url, timeout=60, trust_env=False))

    def signed_in(self, login: dict[str, str]) -> Browser:
        browser = self.connected.enter_context(Browser(self.url))
        browser.sign_in(login["email"], login["password"], login["enrolment_code"])
        return browser

    def call(self, method: str, path: str, *, key: str | None = None, end_user: str = "alice", **options: Any) -> Any:
        headers = {"X-API-Key": key or self.key, "X-End-User-ID": end_user} | options.pop("headers", {})
        while True:
            try:
                return self.note(self.http.request(method, path, headers=headers, **options))
            except httpx.TransportError:  # a connection to a process that is killed by now
                self.lost += 1
                if self.lost > MOST_LOST:
                    raise
                time.sleep(0.5)

    def note(self, response: httpx.Response) -> httpx.Response:
        self.statuses[response.status_code] += 1
        if response.status_code >= 400:
            refusal = response.content + repr(response.headers.multi_items()).encode()
            # The name of an unknown field is returned to the caller that sent it, and to no other.
            self.refusals.append(self.family.without(refusal, NAME))
        return response

    def raw(self, request: bytes) -> None:
        """Bytes that need not be HTTP."""
        there = urlsplit(self.url)
        with suppress(OSError), socket.create_connection((there.hostname or "", there.port or 0), timeout=5) as stream:
            stream.sendall(request)
            stream.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := stream.recv(65_536):
                answer += piece
            self.refusals.append(answer)
            self.statuses[int(answer[9:12] or b"0") if answer[9:12].isdigit() else 0] += 1


# -- the API -----------------------------------------------------------------------------------------------------------


def add(visitor: Visitor) -> None:
    take = visitor.family.take
    end_user = take("end user")
    said = {
        "text": f"My dog {take('text')} sleeps on the blue sofa with {take('text')}.",
        "importance": 0.6,
        "tags": [take("tag"), take("tag")],
        "metadata": {"note": take("metadata"), take("metadata key"): {"deep": [take("metadata")]}},
        "session_id": take("session"),
        "client_ref": take("client_ref"),
    }
    first = visitor.call("POST", "/memory/add", json=said, end_user=end_user)
    assert first.status_code == 201, first.text
    # The same in JSON's own escapes, and again, and a value that replaces another.
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in take("escaped text"))
    visitor.call("POST", "/memory/add", content=f'{{"text": "I live in {escaped}", "importance": 0.6}}'.encode())
    visitor.call("POST", "/memory/add", json=said, end_user=end_user)
    for _ in range(2):
        visitor.call("POST", "/memory/add", json={"text": f"I live in {take('text').capitalize()}."}, end_user=end_user)
    question = {"query": f"where does my dog {take('query')} sleep?", "session_id": take("query session")}
    found = visitor.call("POST", "/memory/query", json=question, end_user=end_user)
    assert said["text"] in [memory["text"] for memory in found.json()["memories"]], "what was said was not found"
    filters = {"tags": [take("query tag")]}
    visitor.call("POST", "/memory/retrieve", json=question | {"filters": filters}, end_user=end_user)
    visitor.call("POST", "/memory/query", json=question | {"metadata_filter": {take("filter"): take("filter")}})
    memory_id = first.json()["id"]
    visitor.call("GET", f"/memory/{memory_id}", end_user=end_user)
    visitor.call("GET", f"/v1/memory/status/{memory_id}", end_user=end_user)
    visitor.call("POST", "/memory/refresh", json={}, end_user=end_user)


def add_in_bulk(visitor: Visitor) -> None:
    take = visitor.family.take
    items = [
        {"text": f"The parcel {take('bulk text')} went to shelf {n}.", "importance": 0.6, "tags": [take("bulk tag")]}
        for n in range(10)
    ]
    items += [{"text": f"My password is {take('secret')}-91"}, {"text": f"ok {take('idle')} lol"}]
    assert visitor.call("POST", "/memory/bulk-add", json={"items": items}).status_code < 300


def change(visitor: Visitor) -> None:
    """Everything that may be said about memories that are there, and every way to read them again."""
    take = visitor.family.take
    end_user = take("end user")

    def call(method: str, path: str, **body: Any) -> Any:
        answer = visitor.call(method, path, json=body or None, end_user=end_user)
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json()

    one, other, third = (
        call("POST", "/memory/add", text=f"The key of {take('text')} is under pot {n}.", importance=0.6)["id"]
        for n in range(3)
    )
    metadata = {"note": take("new metadata"), take("new metadata key"): 1}
    call("PATCH", f"/memory/{one}", tags=[take("new tag")], metadata=metadata)
    item = {"memory_id": other, "tags": [take("batch tag")], "metadata": {"note": take("batch metadata")}}
    call("POST", "/memory/batch-update", items=[item])
    call("GET", f"/memory/{one}/history")
    call("POST", f"/memory/{one}/feedback", signal="positive", comment=f"right, {take('feedback comment')}")
    relation = {"relationship_type": "supports", "metadata": {"why": take("relation metadata")}}
    call("POST", f"/memory/{one}/relations", to_memory_id=other, **relation)
    call("GET", f"/memory/graph?memory_id={one}&depth=2")
    call("POST", "/memory/summarize", memory_ids=[one, other, third])
    call("POST", "/memory/compose", prompt_template=f"About {take('template')}: {{{{memories}}}}")
    call("POST", "/memory/search/routed", query=f"which key is of {take('routed query')}?", include_reasoning=True)
    call("POST", "/memory/synthesize", query=f"where is the key of {take('synthesis')}?")
    call("POST", "/memory/forget-requests", memory_ids=[third], reason=f"since {take('reason to forget')}")
    visitor.call("GET", "/memory/export", end_user=end_user)
    for path in ("clusters", "decisions", "intelligence", "knowledge/stats"):
        call("GET", f"/memory/{path}")


def keep_transcripts(visitor: Visitor) -> None:
    """Turns, conversations and framework state."""
    take = visitor.family.take
    who = {"tenant_id": take("tenant of a turn"), "user_id": take("user of a turn")}

    def call(path: str, **body: Any) -> Any:
        answer = visitor.call("POST", path, json=who | body)
        assert answer.status_code < 300, f"{path}: {answer.text}"
        return answer.json()

    turn = {"text": f"I moved to {take('turn').capitalize()}.", "source": "chat", "speaker": take("speaker")}
    call("/v1/memory/add_turn", **turn, metadata={"note": take("turn metadata"), "session_id": take("turn session")})
    candidate_id = waiting(visitor, who)
    visitor.call("GET", "/v1/candidates?end_user_id=" + take("reviewed user"))
    visitor.call("POST", f"/v1/candidates/{candidate_id}/accept", json={"text": f"Say {take('wording')} to me."})
    call("/v1/memory/recall", prompt=f"who moved to {take('prompt')}?")
    call("/v1/memory/query", prompt=f"who moved to {take('prompt')}?")
    visitor.call("GET", f"/v1/memory/{who['tenant_id']}/{who['user_id']}/list")
    fact = {"subject": take("fact subject"), "predicate": take("fact predicate"), "object": take("fact object")}
    somebody = who["user_id"]
    stated = visitor.call("POST", "/v1/facts", json=fact | {"client_ref": take("fact reference")}, end_user=somebody)
    assert stated.status_code < 300, stated.text
    asked = {"subject": fact["subject"], "predicate": take("asked predicate")}
    assert visitor.call("POST", "/v1/facts/query", json=asked, end_user=somebody).status_code == 200
    visitor.call("GET", "/v1/facts/query?subject=" + take("asked subject"))
    somebody = take("entity")
    call("/v1/memory/add_turn", text=f"My manager is {somebody.capitalize()}.")
    visitor.call("GET", f"/v1/entities?q={somebody}")
    session = {"session_id": take("history session")}
    said = {"role": "user", "content": f"My cat is called {take('history')}.",
            "payload": {take("payload key"): take("payload")},
            "idempotency_key": take("idempotency key")}  # fmt: skip
    call("/v1/history/append", **session, turns=[said], metadata={"note": take("history metadata")})
    call("/v1/history/list", **session)
    state = {"namespace": [take("namespace"), take("namespace")], "key": take("state key")}
    value = {take("state value key"): take("state value")}
    call("/v1/state/put", **state, value=value, text=f"about {take('state text')}", index=True, extract=True)
    call("/v1/state/get", **state)
    call("/v1/state/search", query=f"about {take('state query')}")
    batch = {"namespace": [take("batch namespace")], "key": take("batch key"), "value": {"is": take("batch value")}}
    call("/v1/state/batch", puts=[batch | {"ttl_seconds": 60}], deletes=[{"namespace": ["n"], "key": take("no key")}])
    call("/v1/state/list", filter={take("filter field"): take("filter value")}, order="key")
    call("/v1/state/namespaces", suffix=[take("suffix")])


def waiting(visitor: Visitor, who: dict[str, str]) -> int:
    """A candidate that waits for review.  The reader refuses an order with most canaries: they look like passwords."""
    for _ in range(50):
        order = f"Never mention {visitor.family.take('waiting candidate')} to me in your answers."
        answer = visitor.call("POST", "/v1/memory/add_turn", json=who | {"text": order})
        assert answer.status_code < 300, answer.text
        for candidate_id in answer.json()["candidate_ids"]:
            return int(candidate_id)
    raise AssertionError("no order waits for review")


def keep_profiles(visitor: Visitor) -> None:
    """Typed memories of a profile, and what is asked about them."""
    take = visitor.family.take
    here = f"/v1/memory/{take('namespace of a profile')}/{take('profile')}"

    def call(path: str, method: str = "POST", **body: Any) -> Any:
        answer = visitor.call(method, here + path, **({"json": body} if body else {}))
        assert answer.status_code < 300, f"{path}: {answer.text}"
        return answer.json()

    topic, session = take("topic key"), take("session of a profile")
    memory = {"type": "fact", "topic_key": topic, "summary": f"lives in {take('typed summary')}",
              "content": {take("content key"): take("content")}, "keywords": take("keywords"),
              "session_id": session}  # fmt: skip
    call("/memories", memories=[memory])
    call("/recall", query=take("typed query"), topic_key=take("asked topic"))
    call(f"/sessions/{session}/turns", role="user", content=f"My dog is called {take('turn of a profile')}.")
    asked = call("/erasures", topic_key=topic, type="fact")
    call("/erasures", session_id=session, turns=True)
    call(f"/erasures/{asked['erasure_id']}", "GET")
    call(f"/erasures/{asked['erasure_id']}", "DELETE")
    call("/erasures", "GET")
    call("/policy", "GET")
    for path in ("audit", "tokens", "policy"):
        visitor.call("GET", f"/v1/namespaces/{take('asked namespace')}/{path}")
    visitor.call("PUT", f"{here}/policy", json={"policy": {"memory": {take(NAME): take("policy value")}}})
    visitor.call("POST", f"{here}/tokens", json={"scope": take("token scope")})


def use_mem0(visitor: Visitor) -> None:
    """What mem0's clients send."""
    take = visitor.family.take
    user = take("user of mem0")
    message = {
        "role": "user",
        "content": f"My boat {take('mem0 text')} lies in the harbour.",
        "name": take("mem0 name"),
    }
    said = {"messages": [message], "user_id": user, "agent_id": take("mem0 agent"), "run_id": take("mem0 run"),
            "infer": False, "metadata": {take("mem0 key"): take("mem0 metadata")}}  # fmt: skip

    def call(method: str, path: str, **body: Any) -> Any:
        answer = visitor.call(method, path, **({"json": body} if body else {}))
        assert answer.status_code < 300, f"{path}: {answer.text}"
        return answer.json()

    (added,) = call("POST", "/v3/memories/add/", **said)["results"]
    mine = {"user_id": user}
    call("POST", "/v3/memories/search/", query=f"Where is {take('mem0 query')}?", filters=mine)
    filters = {"AND": [mine, {"NOT": {"text": {"contains": take("mem0 filter")}}}]}
    call("POST", "/v3/memories/", filters=filters)
    call("PUT", f"/v1/memories/{added['id']}/", text=f"The boat {take('mem0 update')} is sold.")
    call("GET", f"/v1/memories/{added['id']}/history/")
    call("POST", "/v1/feedback/", memory_id=added["id"], feedback="NEGATIVE", feedback_reason=take("mem0 reason"))
    visitor.call("GET", f"/v1/memories/{take('mem0 id')}/")
    visitor.call("POST", "/v3/memories/", json={"filters": {take(NAME): take("mem0 value")}})
    visitor.call("DELETE", f"/v2/entities/user/{take('mem0 entity')}/")


def bring_files(visitor: Visitor) -> None:
    """Uploads and imports, whole and broken."""
    take = visitor.family.take
    text = f"# Notes\n\nThe gate code of {take('uploaded text')} changes every spring.\n"
    form = {"metadata": json.dumps({"note": take("upload metadata")})}
    visitor.call("POST", "/memory/upload", files={"file": (f"{take('file name')}.md", text.encode())}, data=form)
    broken = b"%PDF-1.7\n" + take("broken document").encode() * 50
    visitor.call("POST", "/memory/upload", files={"file": (f"{take('file name')}.pdf", broken)})
    rows = [
        {"text": f"The lamp of {take('imported text')} is blue.", "importance": 0.6, "tags": [take("imported tag")],
         "metadata": {"note": take("imported metadata")}, "client_ref": take("imported ref")}
        for _ in range(3)
    ]  # fmt: skip
    lines = [json.dumps(row) for row in rows] + [
        f'{{"text": "{take("broken line")}',
        json.dumps({"tags": take("wrong line")}),
    ]
    files = {"file": (f"{take('import name')}.jsonl", "\n".join(lines).encode())}
    job = visitor.call("POST", "/imports", files=files, data={"continue_on_error": "true", "resume": "false"})
    assert job.status_code < 300, job.text
    where = f"/imports/{job.json()['id']}"
    until(lambda: visitor.call("GET", where).json()["progress_percentage"] == 100)
    assert visitor.call("GET", where).json()["created"] == len(rows)


def be_wrong(visitor: Visitor) -> None:
    take = visitor.family.take
    for path in ("/memory/add", "/memory/bulk-add", "/memory/query", "/memory/retrieve", "/memory/forget"):
        wrong = take("wrong body")
        visitor.call("POST", path, json={"text": [wrong], "items": wrong, "query": {wrong: 1}, "tags": 1})
        visitor.call("POST", path, json={take(NAME): wrong, f"{wrong} {wrong}": wrong})
        visitor.call("POST", path, content=f'{{"text": "{take("broken body")}'.encode())
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        visitor.call("POST", path, content=f"text={take('form body')}".encode(), headers=form)
        files = {"file": (take("file name"), take("file content") * 100_000)}
        visitor.call("POST", path, files=files, data={take(NAME): take("field")})
    for name in ("importance", "profile", "k", "weights", "filters", "ttl_minutes", "metadata", "timestamp"):
        visitor.call("POST", "/memory/add", json={"text": take("text"), name: take("wrong value")})
        visitor.call("POST", "/memory/query", json={"query": take("query"), name: take("wrong value")})
    visitor.call("POST", "/memory/add", json={"text": take("too long") * 200_000})
    visitor.call("POST", "/memory/add", json={"text": take("text"), "session_id": take("too long") * 100})
    visitor.call("POST", "/memory/add", json={"text": f"{take('NUL')}\0", "tags": [f"{take('NUL')}\0"]})
    visitor.call("POST", "/memory/add", content=b'{"text": "\\ud800 ' + take("surrogate").encode() + b'"}')
    visitor.call("POST", "/memory/add", content=b'{"a": ' * 500 + f'"{take("deep")}"'.encode() + b"}" * 500)


def ask_for_what_is_not_there(visitor: Visitor) -> None:
    take = visitor.family.take
    paths = ("/memory/{}", "/{}", "/{}/{}", "/static/{}", "/admin/{}", "/memory/1?q={}", "/memory/1?api_key={}",
             "/memory/%00{}", "/admin/login/?next=/{}",
             "/v1/memory/status/{}")  # fmt: skip
    for path in paths:
        visitor.call("GET", path.format(take("path"), take("path")))
    for path in ("/health?{}={}", "/docs?{}"):
        visitor.call("GET", path.format(take(NAME), take("path")))
    visitor.call(take("method").upper(), "/memory/add")
    visitor.call("DELETE", f"/memory/{take('path')}")
    for name, value in {
        "Host": "{}.example.org",
        "X-API-Key": "ms_live_{}",
        "Authorization": "Bearer {}",
        "X-Project-ID": "proj_{}",
        "X-Environment": "{}",
        "X-Tenant-ID": "{}",
        "X-Request-ID": "<{}>",
        "X-Trace-ID": "{} {}",
        "X-Allow-Cross-Project": "{}",
        "User-Agent": "{}",
        "Referer": "https://example.org/{}",
        "Cookie": "sessionid={}; csrftoken={}; {}={}",
        "X-Forwarded-For": "{}",
        "X-Forwarded-Proto": "{}",
        "Accept": "{}/{}",
        "Content-Type": "application/{}",
        "Content-Encoding": "{}",
    }.items():
        filled = value.format(*(take(f"header {name}") for _ in range(4)))
        visitor.call("POST", "/memory/query", json={"query": take("query")}, headers={name: filled})
    visitor.call("GET", "/memory/1", end_user=take("end user") * 20)


def speak_no_http(visitor: Visitor) -> None:
    take = visitor.family.take
    for request in (
        "{}\r\n\r\n",
        "GET /{} HTTP/9.9\r\n\r\n",
        "GE({} /{} HTTP/1.1\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\n{}: {}\0\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX {}: 1\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n {}\r\n\r\n",
        "POST /memory/add HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
        "POST /memory/add HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {}\r\n\r\n{}",
        "POST /memory/add HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n{}",
        "POST /memory/add HTTP/1.1\r\nHost: localhost\r\nExpect: {}\r\nContent-Length: 1\r\n\r\n{}",
        f"GET /{'{}' * 400} HTTP/1.1\r\n\r\n",
    ):
        visitor.raw(request.format(*(take("no HTTP") for _ in range(400 if "{}{}{}" in request else 2))).encode())


# -- the admin ---------------------------------------------------------------------------------------------------------


def operator_of(visitor: Visitor) -> Browser:
    """Signed in once, with an authenticator."""
    if visitor.operator_at_work is None:
        visitor.operator_at_work = visitor.signed_in(visitor.operator)
    return visitor.operator_at_work


@contextmanager
def sign_in(visitor: Visitor) -> Iterator[httpx.Client]:
    """The operator's browser, which follows where it is sent, at the admin."""
    browser = operator_of(visitor).http
    browser.follow_redirects = True
    try:
        assert browser.get("/admin/").url.path == "/admin/", "the operator could not sign in"
        yield browser
    finally:
        browser.follow_redirects = False


def pages(browser: httpx.Client, most: int = 80) -> Iterator[httpx.Response]:
    """Pages of the admin, as far as links lead."""
    seen, waiting = set(), ["/admin/"]
    while waiting and len(seen) < most:
        path = waiting.pop(0)
        if path in seen or "logout" in path:
            continue
        seen.add(path)
        page = browser.get(path)
        yield page
        waiting += re.findall(r'href="(/admin/[^"#?]*)', page.text)


def use_the_admin(visitor: Visitor) -> None:
    take = visitor.family.take
    visitor.note(visitor.http.post("/admin/login/", data={"username": take("user name"), "password": take("password")}))
    visitor.note(visitor.http.get(f"/admin/login/?next=/admin/{take('next page')}"))
    with sign_in(visitor) as browser:
        lists = [path for path in links(browser) if path.count("/") == 4]
        for path in lists:
            for query in ("?q={}", "?{}__exact={}", "?o={}&p={}", "?e={}"):
                visitor.note(browser.get(path + query.format(take("admin search"), take("admin search"))))
            token = browser.cookies.get("csrftoken") or ""
            wrong = {
                "action": take("admin action"),
                "_selected_action": take("admin row"),
                take("field"): take("field"),
            }
            visitor.note(browser.post(path, data=wrong | {"csrfmiddlewaretoken": token}))
            visitor.note(browser.post(path, data=wrong))
            visitor.note(browser.get(f"{path}{take('admin path')}/change/"))
        for path in ("/admin/apikeys/apikey/issue", "/admin/apikeys/apikey/issue/"):
            wrong = {"scopes": take("admin form"), "expires_in": take("admin form"), "environment": take("admin form")}
            token = browser.cookies.get("csrftoken") or ""
            visitor.note(browser.post(path, data=wrong | {"tenant": take("admin form"), "csrfmiddlewaretoken": token}))


def links(browser: httpx.Client) -> list[str]:
    return sorted(set(re.findall(r'href="(/admin/[^"#?]*)', browser.get("/admin/").text)))


# -- the broker, and the command line ----------------------------------------------------------------------------------


def throw(visitor: Visitor, thrown: Family) -> None:
    """Messages that no part of ours sends.  They lie in the broker as their sender wrote them: only logs and what
    follows from them are searched for this family."""
    from kombu import Connection

    url = visitor.environment["CELERY_BROKER_URL"]
    # Said once more: the client would otherwise take DATABASE_URL from the environment over it.
    options = {"init_extension": False, "conn_string": url.replace("pgmq", "postgresql", 1)}
    with Connection(url, transport_options=options) as broker:
        queue = broker.SimpleQueue("celery")
        for task in ("outbox.drain", thrown.take("task name"), "memories.expire"):
            said = thrown.take("task argument")
            headers = {"lang": "py", "task": task, "id": thrown.take("task id"), "argsrepr": said, "kwargsrepr": said}
            body = [[said], {said: said}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
            queue.put(body, headers=headers, serializer="json")
        queue.put(thrown.take("no task"), serializer="json")
        queue.put(f"{{{thrown.take('no JSON')}", content_type="application/json", content_encoding="utf-8")
        queue.close()
    time.sleep(3)


def type_commands(visitor: Visitor) -> None:
    take = visitor.family.take
    for arguments in (
        ["key", "list", "--tenant", take("command")],
        ["key", "revoke", take("command")],
        ["tenant", "policy", take("command"), "key_deletes=retire"],
        ["space", "seal", "--user", take("command")],
        [take("command"), take("command")],
        ["keys", "rotate"],
    ):
        command = [sys.executable, "-m", "memsync.cli", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=visitor.environment, capture_output=True, timeout=300, check=False)
        visitor.commands.append(done.stdout + done.stderr)


def settle(visitor: Visitor) -> None:
    """Until all that waits is done."""
    with psycopg.connect(visitor.owner_url, autocommit=True) as owner:
        owner.execute("update outbox_outboxevent set run_after = now()")
        until(lambda: owner.execute("select count(*) from outbox_outboxevent").fetchone() == (0,), 300)


def until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError, httpx.HTTPError):
            if condition():
                return
        time.sleep(0.1)
    raise TimeoutError("the instance did not come back")
