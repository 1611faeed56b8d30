"""Whether password guessing locks a user out of a browser in which they have signed in before."""

from datetime import UTC, datetime
from typing import Any, Final

from benchmarks.browser import SIGN_IN, Browser, SignInFailed
from benchmarks.instance import Instance

GUESSES: Final = 200
EMAIL: Final = "owner@lockout.example"


def run(running: Instance, *, guesses: int = GUESSES) -> dict[str, Any]:
    """Try wrong passwords from the address of a known browser, then sign in there as its user.

    {"guesses", "refused": responses with 429, "owner gets in": with password and code, in the known browser}
    """
    from apps.accounts.services import get_or_create_person
    from apps.tenants.members import give_role
    from apps.tenants.models import Role
    from apps.tenants.selectors import get_tenant

    now = datetime.now(UTC)
    person, made = get_or_create_person(EMAIL, actor="command:0", now=now)
    assert made is not None, "nobody of this name was there"
    give_role(get_tenant(running.tenant), person.pk, Role.OWNER, actor="command:0", now=now)
    with Browser(running.url) as owner, Browser(running.url) as stranger:
        owner.sign_in(EMAIL, made.password, made.enrolment_code)
        owner.post("/app/sign-out")
        stranger.http.get(SIGN_IN)
        guess = {"login": EMAIL, "password": "not this one"}
        refused = sum(stranger.post(SIGN_IN, guess).status_code == 429 for _ in range(guesses))
        return {"guesses": guesses, "refused": refused, "owner gets in": _gets_in(owner, made.password)}


def _gets_in(owner: Browser, password: str) -> bool:
    try:
        owner.sign_in(EMAIL, password)
    except SignInFailed:
        return False
    return owner.http.get("/app/account").status_code == 200
