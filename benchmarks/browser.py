"""A user at a browser, as far as pages without scripts need one: cookies, forms, a password, an authenticator."""

import base64
import hmac
import re
import struct
import time
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx

SIGN_IN: Final = "/app/sign-in"
STEP_UP: Final = "/app/step-up"
_PERIOD: Final = 30  # seconds of a code
_SEED: Final = re.compile(r'<code class="seed">([A-Z2-7 ]+)</code>')


class SignInFailed(RuntimeError):
    """The server did not let this person in, or did not believe who they are."""


class Browser:
    """http: to ask with directly.  seed: of the authenticator, once there is one."""

    def __init__(self, url: str, *, seed: str = "") -> None:
        self.http = httpx.Client(base_url=url, timeout=120, trust_env=False)
        self.seed = seed
        self._shown = 0  # the period of the code that was shown last: each works once

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, path: str, data: dict[str, Any] | None = None) -> httpx.Response:
        """As a form of the page of that address would; no redirect is followed."""
        token = self.http.cookies.get("csrftoken") or ""
        return self.http.post(path, data={"csrfmiddlewaretoken": token} | (data or {}))

    def sign_in(self, email: str, password: str, enrolment_code: str = "") -> None:
        """With the authenticator's code, where there is one; else one is enrolled with the code that the account came
        with.  Raises SignInFailed."""
        self.http.get(SIGN_IN)
        self._expect(self.post(SIGN_IN, {"login": email, "password": password}), 302)
        if self.seed:
            self.http.get(f"{SIGN_IN}/code")
            self._expect(self.post(f"{SIGN_IN}/code", {"code": self.code()}), 302)
        else:
            self._enrol(password, enrolment_code)

    def step_up(self) -> None:
        """Confirm with a code.  Raises SignInFailed."""
        self.http.get(STEP_UP)
        self._expect(self.post(STEP_UP, {"code": self.code(), "next": "/app/"}), 302)

    def get(self, path: str) -> httpx.Response:
        """Confirmed first where the page asks for that."""
        answer = self.http.get(path)
        if asks_for_step_up(answer):
            self.step_up()
            answer = self.http.get(path)
        return answer

    def code(self) -> str:
        """One that was not shown yet.  Waits for it if need be: the server takes those of one period ahead."""
        period = max(self._shown + 1, int(time.time()) // _PERIOD)
        time.sleep(max(0.0, (period - 1) * _PERIOD - time.time()))
        self._shown = period
        key = base64.b32decode(self.seed + "=" * (-len(self.seed) % 8))
        digest = hmac.digest(key, struct.pack(">Q", period), "sha1")
        (number,) = struct.unpack_from(">I", digest, digest[-1] & 15)
        return f"{(number & 0x7FFFFFFF) % 1_000_000:06d}"

    def _enrol(self, password: str, enrolment_code: str) -> None:
        self.http.get(STEP_UP)
        shown = {"password": password, "code": enrolment_code, "next": "/app/account"}
        self._expect(self.post(STEP_UP, shown), 302)
        page = self.http.get("/app/account/authenticator/add")
        found = _SEED.search(page.text)
        if found is None:
            raise SignInFailed(f"no authenticator could be added: {page.status_code}")
        self.seed = found[1].replace(" ", "")
        self._expect(self.post("/app/account/authenticator/add", {"code": self.code()}), 302)
        self.step_up()

    def _expect(self, answer: httpx.Response, status: int) -> None:
        if answer.status_code != status:
            raise SignInFailed(f"{answer.request.method} {answer.request.url.path}: {answer.status_code}")


def asks_for_step_up(answer: httpx.Response) -> bool:
    return answer.status_code == 302 and urlsplit(answer.headers["Location"]).path == STEP_UP
