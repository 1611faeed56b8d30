"""A browser without scripts for a signed-in user: cookies, forms, password and authenticator."""

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
_PERIOD: Final = 30  # seconds per TOTP code
_SEED: Final = re.compile(r'<code class="seed">([A-Z2-7 ]+)</code>')


class SignInFailed(RuntimeError):
    """The server refused the sign-in or a second factor."""


class Browser:
    """http: client for direct requests.  seed: TOTP secret of the authenticator, once enrolled."""

    def __init__(self, url: str, *, seed: str = "") -> None:
        self.http = httpx.Client(base_url=url, timeout=120, trust_env=False)
        self.seed = seed
        self._shown = 0  # period of the last code used: each code works once

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, path: str, data: dict[str, Any] | None = None) -> httpx.Response:
        """Submit a form to this address; redirects are not followed."""
        token = self.http.cookies.get("csrftoken") or ""
        return self.http.post(path, data={"csrfmiddlewaretoken": token} | (data or {}))

    def sign_in(self, email: str, password: str, enrolment_code: str = "") -> None:
        """Sign in with password and TOTP code, enrolling an authenticator first if there is none.

        enrolment_code: issued with the account.  Raises SignInFailed.
        """
        self.http.get(SIGN_IN)
        self._expect(self.post(SIGN_IN, {"login": email, "password": password}), 302)
        if self.seed:
            self.http.get(f"{SIGN_IN}/code")
            self._expect(self.post(f"{SIGN_IN}/code", {"code": self.code()}), 302)
        else:
            self._enrol(password, enrolment_code)

    def step_up(self) -> None:
        """Reauthenticate with a TOTP code.  Raises SignInFailed."""
        self.http.get(STEP_UP)
        self._expect(self.post(STEP_UP, {"code": self.code(), "next": "/app/"}), 302)

    def get(self, path: str) -> httpx.Response:
        """GET a page, reauthenticating first if it asks for that."""
        answer = self.http.get(path)
        if asks_for_step_up(answer):
            self.step_up()
            answer = self.http.get(path)
        return answer

    def code(self) -> str:
        """An unused TOTP code.  Waits if needed: the server accepts codes of up to one period ahead."""
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
