"""The ways in of people: the console, files and webhooks that they ask for, and operators who break the glass.

Left out, being plain by design and said to be so: names of webhooks, projects and keys, and an operator's reason.
"""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import httpx
import psycopg
from orjson import loads

from benchmarks.browser import Browser, SignInFailed, asks_for_step_up
from tests.canaries.doors import ROOT, Visitor, operator_of, until, waiting

HERE: Final = "environment=production"
PAGES: Final = (
    "", "spaces", "review", "requests", "privacy", "erasures", "retention", "retention/next", "retention/holds",
    "webhooks", "exports", "audit", "audit/chain", "receipts", "receipt-keys", "keys", "team", "usage", "settings",
    "projects", "break-glass",
)  # fmt: skip


@dataclass
class Person:
    """A user of the console; every response is recorded: headers of all, and pages that refuse."""

    visitor: Visitor
    browser: Browser

    @classmethod
    def signed_in(cls, visitor: Visitor, login: dict[str, str]) -> "Person":
        return cls(visitor, visitor.signed_in(login))

    @property
    def tenant(self) -> str:
        return f"/app/t/{self.visitor.tenant}"

    def get(self, path: str) -> httpx.Response:
        return self._noted(self.browser.get(path))

    def post(self, path: str, **data: Any) -> httpx.Response:
        """Confirmed first where the page asks for that."""
        return self._noted(self.submit(path, **data))

    def submit(self, path: str, **data: Any) -> httpx.Response:
        """As ``post``, without a record of the response: for one that repeats what the caller sent, as it must."""
        answer = self.browser.post(path, data)
        if asks_for_step_up(answer):
            self.browser.step_up()
            answer = self.browser.post(path, data)
        return answer

    def confirm(self, path: str, **data: Any) -> httpx.Response:
        """With the leave that the page gives."""
        page = self.get(path)
        leave = re.findall(r'name="assertion" value="([^"]+)"', page.text)
        assert leave, f"{path}: {page.status_code}, and no leave"
        return self.post(path, assertion=leave[0], **data)

    def _noted(self, answer: httpx.Response) -> httpx.Response:
        self.visitor.statuses[answer.status_code] += 1
        self.visitor.headers.append(repr(answer.headers.multi_items()).encode())
        # An invalid form shows what was typed to the user who typed it, and to no other.
        if answer.status_code >= 400 and answer.status_code != 422:
            self.visitor.refusals.append(answer.content)
        return answer


def owner_of(visitor: Visitor) -> Person:
    """Signed in once."""
    if visitor.owner_at_work is None:
        visitor.owner_at_work = Person.signed_in(visitor, visitor.owner)
    person: Person = visitor.owner_at_work
    return person


def space_of(visitor: Visitor, end_user: str) -> str:
    """The address of the space of this end user, found by their id."""
    answer = owner_of(visitor).post(f"{owner_of(visitor).tenant}/spaces", end_user=end_user, environment="production")
    assert answer.status_code == 302, f"{end_user}: {answer.status_code}"
    return str(answer.headers["Location"])


# -- the console -----------------------------------------------------------------------------------------------------


def sign_in_wrongly(visitor: Visitor) -> None:
    """As an owner who has an authenticator."""
    owner_of(visitor)
    take = visitor.family.take
    with Browser(visitor.url) as browser:
        somebody = Person(visitor, browser)
        somebody.get(f"/app/sign-in?next=/app/t/{take('next page')}")
        somebody.post("/app/sign-in", login=f"{take('login')}@example.org", password=take("password"))
        somebody.post("/app/sign-in", login=visitor.owner["email"], password=take("password"))
        somebody.post("/app/sign-in/passkey", credential=take("credential"))
        somebody.post("/app/sign-in", login=visitor.owner["email"], password=visitor.owner["password"])
        somebody.post("/app/sign-in/code", code=take("code"))
        browser.http.headers["Referer"] = f"https://example.org/{take('referer')}"
        somebody.post("/app/colours", colours=take("colours"))


def use_the_console(visitor: Visitor) -> None:
    take, owner = visitor.family.take, owner_of(visitor)
    end_user, tag, session = take("end user"), take("tag"), take("session")
    said = {"text": f"My canoe {take('text')} lies by the lake.", "importance": 0.6, "tags": [tag], "source": "chat",
            "session_id": session, "metadata": {"note": take("metadata")}}  # fmt: skip
    kept = visitor.call("POST", "/memory/add", json=said, end_user=end_user).json()["id"]
    visitor.call("POST", "/memory/add", json={"text": f"I live in {take('text').capitalize()}."}, end_user=end_user)
    space = visitor.space = space_of(visitor, end_user)
    owner.post(f"{owner.tenant}/spaces", end_user=take("nobody"), environment="production")
    owner.post(f"{owner.tenant}/retention?{HERE}", end_user=end_user, environment="production")
    assert said["text"].split()[2] in owner.get(space).text, "what was said is not on its page"
    hidden = owner.post(space, tag=tag, session=session, status="current").headers["Location"]
    assert said["text"].split()[2] in owner.get(hidden).text, "what was said is not found by its tag"
    owner.post(space, tag=take("tag"), session=take("session"))
    for field in ("type", "source", "since", "as_of", "with", "before", "project", "status"):
        owner.get(f"{space}?{field}={take('filter')}")
    asked = {"q": f"where does my canoe {take('question')} lie?", "as_of": "", "profile": ""}
    found = owner.get(owner.post(f"{space}/search", **asked).headers["Location"])
    assert said["text"].split()[2] in found.text, "what was said is not found"
    asked = {"q": take("question"), "type": take("type"), "profile": take("profile")}
    owner.get(owner.post(f"{space}/search", **asked).headers["Location"])
    owner.post(f"{space}/search", q=take("question"), as_of=take("day"))
    for path in (f"{space}/graph", f"{space}/graph?of=memories", f"{space}/memories/{kept}"):
        owner.get(path)
    owner.get(f"{space}/memories/{kept}?as_of={take('day')}")
    owner.get(f"{space}/delete?source=chat")
    owner.post(f"{space}/delete?source=chat", assertion=take("assertion"))
    owner.get(f"{space}/memories/{kept}/delete")
    assert owner.post(f"{space}/memories/{kept}/delete").status_code == 302
    owner.get(f"{space}?status=deleted")
    assert owner.post(f"{space}/memories/{kept}/restore").status_code == 302
    owner.post(f"{space}/memories/{kept}/erase", typed=take("typed"), assertion=take("assertion"))
    for path in PAGES:
        answer = owner.get(f"{owner.tenant}/{path}".rstrip("/") + f"?{HERE}")
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
    for field in ("actor", "action", "outcome", "since", "before"):
        owner.get(f"{owner.tenant}/audit?{field}={take('audit filter')}")
    owner.post(f"{owner.tenant}/audit/check")
    owner.get("/app/account")
    owner.get("/app/account/sessions")
    owner.post("/app/account/password", oldpassword=take("password"), password1=take("new"), password2=take("new"))
    owner.post("/app/step-up", credential=take("credential"), next=f"/app/{take('next page')}")


def review(visitor: Visitor) -> None:
    take, owner = visitor.family.take, owner_of(visitor)
    who = {"tenant_id": visitor.tenant, "user_id": take("user of a turn")}
    for _ in range(3):
        waiting(visitor, who)
    page = owner.get(f"{owner.tenant}/review?{HERE}")
    worded, refused, accepted = re.findall(r'name="id"\s+value="(\d+)"', page.text)[:3]
    decide = f"{owner.tenant}/review/decide"
    owner.post(decide, environment="production", word=worded, **{f"text-{worded}": f"Say {take('wording')} to me."})
    owner.post(decide, environment="production", refuse=refused)
    owner.post(decide, environment="production", accept=accepted)
    for one in (accepted, refused):
        undone = owner.post(f"{owner.tenant}/review/{one}/undo", environment="production")
    assert undone.status_code == 302, "a refusal of a moment ago can be taken back"
    owner.post(decide, environment="production", accept=take("candidate"))
    owner.get(f"{owner.tenant}/review?{HERE}&state={take('state')}")


# -- files -----------------------------------------------------------------------------------------------------------


def take_files_along(visitor: Visitor) -> None:
    """Of memories that filters name, and of everything of one person: made, taken, stopped and refused."""
    take, owner = visitor.family.take, owner_of(visitor)
    end_user, word = take("end user"), take("exported text")
    said = {"text": f"The violin {word} is in the attic.", "importance": 0.6, "tags": [take("exported tag")],
            "metadata": {take("exported key"): take("exported metadata")}}  # fmt: skip
    visitor.call("POST", "/memory/add", json=said, end_user=end_user)
    asked = f"{owner.tenant}/exports/new?{HERE}"
    for format_, filters, is_in_it in (
        ("jsonl", {"user_id": end_user}, True),
        ("csv", {"q": word}, True),
        ("jsonl", {"q": take("words")}, False),
    ):
        there = owner.post(asked, format=format_, **filters).headers["Location"].partition("?")[0]
        until(lambda there=there: f"{there}/link" in owner.get(f"{there}?{HERE}").text)
        owner.get(f"{there}/link?{HERE}")
        file = _taken(visitor, owner.post(f"{there}/link?{HERE}"))
        assert (word in file.text) is is_in_it, "the file has what was asked for"
    stopped = owner.post(asked, format="csv", user_id=end_user).headers["Location"].partition("?")[0]
    owner.post(f"{stopped}/cancel?{HERE}")
    owner.post(asked, format=take("format"), date_from=take("day"))
    visitor.call("GET", f"/exports/{take('export')}/file/{take('token')}")
    _about_a_person(visitor, owner, end_user, word)


def _about_a_person(visitor: Visitor, owner: Person, end_user: str, word: str) -> None:
    form = {"name": "for requests", "environment": "production", "days": "90", "scopes": "privacy:request"}
    (key,) = set(re.findall(r"ms_live_\w+", owner.post(f"{owner.tenant}/keys/new", **form).text))
    asked = visitor.call("POST", "/v1/privacy/requests", key=key, json={"type": "access"}, end_user=end_user)
    assert asked.status_code < 300, asked.text
    there = f"{owner.tenant}/privacy"
    owner.post(f"{there}/{asked.json()['id']}/file")
    link = f"{there}/{asked.json()['id']}/link"
    until(lambda: link in owner.get(there).text)
    assert word in _taken(visitor, owner.post(link)).text, "the person's file has what they said"


def _taken(visitor: Visitor, page: httpx.Response) -> httpx.Response:
    """The file that the page leads to, by a link that works once."""
    (address,) = set(re.findall(r'href="[^"]*(/exports/[^"]+/file/[^"]+)"', page.text))
    file = visitor.note(visitor.http.get(address))
    assert file.status_code == 200, file.status_code
    visitor.note(visitor.http.get(address))
    return file


# -- webhooks --------------------------------------------------------------------------------------------------------


def tell_others(visitor: Visitor) -> None:
    """To a receiver that answers with canaries, and with faults: retried, given up, sent again."""
    take, owner = visitor.family.take, owner_of(visitor)
    with _receiver(visitor) as port:
        form: dict[str, Any] = {
            "name": "a hook", "url": f"http://127.0.0.1:{port}/{take('hook path')}?token={take('hook token')}",
            "description": f"tells {take('hook description')}", "events": ["memory.created", "memory.deleted"],
            "retry_enabled": "on", "max_retries": 2, "initial_delay_seconds": 1, "max_delay_seconds": 60,
            "backoff_multiplier": 1, "retry_status_codes": "500", "signature_algorithm": "hmac-sha256",
            "signature_header": "X-Signature", "timestamp_header": "X-Timestamp", "signature_tolerance": 300,
        }  # fmt: skip
        made = owner.post(f"{owner.tenant}/webhooks/new?{HERE}", **form)
        assert made.status_code == 200, f"no webhook: {made.status_code}"
        (number,) = set(re.findall(r"/webhooks/(\d+)", owner.get(f"{owner.tenant}/webhooks?{HERE}").text))
        there = f"{owner.tenant}/webhooks/{number}"
        owner.post(f"{owner.tenant}/webhooks/new?{HERE}", **form | {"url": f"ftp://{take('hook host')}/"})
        owner.post(f"{there}/change?{HERE}", **form | {"description": take("hook description")})
        said = {"text": f"The ferry {take('told text')} leaves at noon.", "importance": 0.6, "tags": [take("tag")]}
        visitor.call("POST", "/memory/add", json=said, end_user=take("end user"))
        owner.post(f"{there}/test?{HERE}", event_type="memory.created")
        owner.post(f"{there}/test?{HERE}", event_type=take("event type"))
        until(lambda: "/deliveries/" in owner.get(f"{there}?{HERE}&state=dead_letter").text)
        page = owner.get(f"{there}?{HERE}&state=dead_letter")
        delivery = re.findall(r"/webhooks/deliveries/(\d+)", page.text)[0]
        shown = owner.get(f"{owner.tenant}/webhooks/deliveries/{delivery}?{HERE}")
        assert visitor.family.beginning in shown.text, "what the receiver answered is shown to who may see it"
        owner.post(f"{owner.tenant}/webhooks/deliveries/{delivery}/again?{HERE}")
        owner.post(f"{there}/replay?{HERE}")
        owner.get(f"{there}?{HERE}&state={take('state')}")
        assert owner.post(f"{there}/secret?{HERE}").status_code == 200
        for state in ("pending", "retrying"):  # or what waits for a paused one would wait for good
            until(lambda state=state: "/deliveries/" not in owner.get(f"{there}?{HERE}&state={state}").text)
        owner.post(f"{there}/pause?{HERE}")


@contextmanager
def _receiver(visitor: Visitor) -> Iterator[int]:
    """What it is sent goes to ``visitor.told``."""
    take = visitor.family.take

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            visitor.told.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            visitor.told.append(repr(self.headers.items()).encode())
            body = f"cannot take this: {take('answer of a receiver')}".encode()
            self.send_response(500, take("reason phrase"))
            self.send_header("Content-Length", str(len(body)))
            self.send_header(f"X-{take('header of a receiver')}", take("header of a receiver"))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


# -- operators -------------------------------------------------------------------------------------------------------


def break_the_glass(visitor: Visitor) -> None:
    """Two operators and an owner: asked, approved, allowed, a memory read, ended."""
    take, owner = visitor.family.take, owner_of(visitor)
    end_user, word = take("end user"), take("text behind glass")
    said = {"text": f"The cellar {word} is damp.", "importance": 0.6, "metadata": {"note": take("metadata")}}
    memory = visitor.call("POST", "/memory/add", json=said, end_user=end_user).json()["id"]
    space = space_of(visitor, end_user).rpartition("/")[2]
    asking = Person(visitor, operator_of(visitor))
    approving = Person.signed_in(visitor, _second_operator(visitor))
    with psycopg.connect(visitor.owner_url, autocommit=True) as database:  # as if enrolled the day before yesterday
        database.execute("update mfa_authenticator set created_at = now() - interval '2 days'")
    glass = f"/app/break-glass/{visitor.tenant}"
    asking.post(f"{glass}/spaces/{space}", reason="short", ticket=take("ticket"))
    asked = asking.post(f"{glass}/spaces/{space}", reason="Answers are wrong since Tuesday.", ticket="OPS-17")
    grant = asked.headers["Location"]
    number = grant.rpartition("/")[2]
    assert approving.confirm(f"{grant}/approve").status_code == 302
    assert owner.confirm(f"{owner.tenant}/break-glass/{number}/allow").status_code == 302
    asking.get(grant)
    read = asking.post(grant, memory=str(memory))
    assert word in read.text, "the operator reads what they have leave for"
    asking.post(grant, memory=take("memory's number"))
    asking.get(f"{grant}?before={take('before')}")
    owner.get(f"{owner.tenant}/break-glass")
    assert owner.post(f"{owner.tenant}/break-glass/{number}/end").status_code == 302
    assert word not in asking.post(grant, memory=str(memory)).text, "it is over"


def _second_operator(visitor: Visitor) -> dict[str, str]:
    email = "second@operators.example"
    command = [sys.executable, "-m", "memsync.cli", "people", "add", email, "--role", "analyst", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=visitor.environment, capture_output=True, timeout=300, check=True)
    with psycopg.connect(visitor.owner_url, autocommit=True) as database:
        database.execute("delete from tenants_membership where user_id = (select id from accounts_user "
                         "where email = %s)", [email])  # fmt: skip
        database.execute("update accounts_user set is_staff = true, is_superuser = true where email = %s", [email])
    login: dict[str, str] = loads(done.stdout)
    return login


def erase_a_person(visitor: Visitor) -> None:
    take, owner = visitor.family.take, owner_of(visitor)
    end_user = take("end user")
    visitor.call("POST", "/memory/add", json={"text": f"I row with {take('erased text')}."}, end_user=end_user)
    space = space_of(visitor, end_user)
    owner.confirm(f"{space}/erase", typed=take("typed"))
    done = owner.confirm(f"{space}/erase", typed=end_user)
    assert done.status_code == 302, done.status_code
    receipts = re.findall(r'href="([^"]+/receipts/[^"]+)"', owner.get(done.headers["Location"]).text)
    assert receipts, "an erasure has a receipt"
    assert visitor.family.beginning not in owner.get(receipts[0]).text, "a receipt quotes nobody"


def try_the_console(visitor: Visitor, door: str) -> None:
    """While something is broken: whatever comes of it, it says nothing."""
    take = visitor.family.take
    owner = owner_of(visitor)
    with suppress(httpx.HTTPError, SignInFailed):
        owner.post(f"{owner.tenant}/spaces", end_user=take(door), environment="production")
        for space in (visitor.space, f"{owner.tenant}/spaces/1"):
            owner.get(space)
            found = owner.post(f"{space}/search", q=f"where is {take(door)}?")
            owner.get(found.headers.get("Location", space))
            owner.post(space, tag=take(door), session=take(door))
        owner.post(f"{owner.tenant}/exports/new?{HERE}", format="csv", q=take(door))
        owner.post(f"{owner.tenant}/review/decide", word="1", **{"text-1": take(door)})
