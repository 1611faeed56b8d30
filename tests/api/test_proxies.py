"""Who asks, behind a proxy: what it says is believed, and what anybody else says is not."""

import json
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.proxies import caller_address, trusted_networks
from memsync.env import env_proxies
from tests.web.people import make_person

pytestmark = pytest.mark.django_db(databases="__all__")

PROXY, OUTER, CALLER, OTHER = "10.0.0.5", "198.51.100.9", "203.0.113.7", "192.0.2.44"


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "believed"),
    [
        (CALLER, "", (), CALLER),
        (CALLER, OTHER, (), CALLER),  # no proxy is trusted
        (CALLER, OTHER, (PROXY,), CALLER),  # this one is not
        (PROXY, CALLER, (PROXY,), CALLER),
        (PROXY, f"{OTHER}, {CALLER}", (PROXY,), CALLER),  # what the caller wrote stands before what the proxy wrote
        (PROXY, f"{OTHER},{CALLER},{OUTER}", (PROXY, OUTER), CALLER),
        (PROXY, f"{CALLER}, 10.1.2.3", ("10.0.0.0/8",), CALLER),
        (PROXY, f"{PROXY}, {PROXY}", (PROXY,), PROXY),
        (PROXY, "", (PROXY,), PROXY),
        (PROXY, " , ", (PROXY,), PROXY),
        (PROXY, f"{CALLER}, unknown", (PROXY,), PROXY),  # what is no address ends the list
        (PROXY, f"{CALLER}:4711", (PROXY,), CALLER),
        (PROXY, "[2001:db8::7]:4711", (PROXY,), "2001:db8::7"),
        (PROXY, f"::ffff:{CALLER}", (PROXY,), CALLER),
        (f"::ffff:{PROXY}", CALLER, (PROXY,), CALLER),
        (f"::ffff:{CALLER}", "", (), CALLER),
        ("2001:db8::1", CALLER, ("2001:db8::/64",), CALLER),
        ("", CALLER, ("unix",), CALLER),
        ("", CALLER, (PROXY,), ""),
        ("not an address", CALLER, (PROXY,), "not an address"),
    ],
)
def test_list_is_read_from_its_end_as_far_as_ours_wrote_it(
    peer: str, forwarded: str, trusted: tuple[str, ...], believed: str
) -> None:
    assert caller_address(peer, forwarded, trusted_networks(trusted)) == believed


@pytest.mark.parametrize("said", ["10.0.0.0/33", "proxy.internal", "10.0.0.5;10.0.0.6"])
def test_list_that_cannot_be_read_stops_the_start(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", said)

    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES"):
        env_proxies("TRUSTED_PROXIES")


def sign_in(email: str, password: str, *, forwarded: str, peer: str = PROXY) -> Any:
    body = json.dumps({"email": email, "password": password})
    headers = {"X-Forwarded-For": forwarded}
    client = Client(REMOTE_ADDR=peer, headers=headers)
    return client.post("/auth/login", body, content_type="application/json")


def test_stranger_behind_the_proxy_stops_nobody_else_behind_it(acme: OpenedTenant, settings: Any) -> None:
    settings.TRUSTED_PROXIES = trusted_networks([PROXY])
    ann = make_person(acme.tenant, factor=False)
    guesses = [
        sign_in(f"nobody{number}@example.org", "wrong password", forwarded=f"{number}.9.9.9, {OTHER}").status_code
        for number in range(30)
    ]

    assert guesses.count(429) >= 5  # whatever the stranger wrote before the proxy's word
    assert sign_in(ann.user.email, ann.password, forwarded=CALLER).status_code == 200


def test_who_is_no_proxy_chooses_no_address(acme: OpenedTenant, settings: Any) -> None:
    settings.TRUSTED_PROXIES = trusted_networks([PROXY])
    guesses = [
        sign_in(f"n{number}@example.org", "wrong", forwarded=f"9.9.9.{number}", peer=OTHER) for number in range(30)
    ]

    assert [one.status_code for one in guesses].count(429) >= 5


def test_trail_names_the_callers_network(acme: OpenedTenant, settings: Any) -> None:
    settings.TRUSTED_PROXIES = trusted_networks([PROXY])
    ann = make_person(acme.tenant, factor=False)

    sign_in(ann.user.email, ann.password, forwarded=f"{OTHER}, {CALLER}")

    assert AuditEvent.objects.get(action="session.open").network == "203.0.113.0/24"


def test_guessed_keys_are_counted_for_who_guesses_and_not_for_the_proxy(settings: Any) -> None:
    settings.TRUSTED_PROXIES = trusted_networks([PROXY])

    def guess(forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded, "X-API-Key": "ms_live_x"}
        return Client(REMOTE_ADDR=PROXY, headers=headers).get("/v1/types").status_code

    assert [guess(OTHER) for _ in range(25)].count(429) == 5
    assert guess(CALLER) == 401
