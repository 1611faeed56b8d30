"""What open streams are left, and when they end; a turn of the thread at a time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from apps.apikeys import services as keys
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.selectors import Authenticated, authenticate
from apps.projects.scope import Scope
from apps.tenants.services import close_tenant
from apps.webhooks import event_log, listeners
from apps.webhooks.event_log import NOBODY, EventFilter
from apps.webhooks.events import CATEGORIES
from apps.webhooks.listeners import RESET, Hub, Listener, TooManyListeners
from tests import once
from tests.makers import make_api_key, make_scope
from tests.webhooks.conftest import remember

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Its thread does nothing: the test takes its turns."""
    monkeypatch.setattr(Hub, "_run", lambda self: None)
    return Hub(lambda: datetime.now(UTC))


@pytest.fixture
def key(acme: OpenedTenant) -> Authenticated:
    return authenticate(make_api_key(acme.scope).text, now=datetime.now(UTC))


def listen(
    key: Authenticated,
    *,
    end_user: str | None = None,
    after: int | None = None,
    types: Sequence[str] = CATEGORIES["memory"],
) -> Listener:
    """A stream of this key, which has read its first line."""
    state = event_log.keep_recording(key.scope, now=datetime.now(UTC))
    position = event_log.find_position(key.scope, state, after)
    only = EventFilter(
        environment="production",
        project_id=None,
        space_id=NOBODY if end_user else None,
        types=frozenset(types),
    )
    listener = Listener(key.scope, key, only, position=position, end_user=end_user)
    assert listener.take() == b"retry: 3000\nid: %d\n\n" % position
    return listener


def names(frames: bytes | None) -> list[bytes]:
    return [line.removeprefix(b"event: ") for line in (frames or b"").splitlines() if line.startswith(b"event: ")]


def test_listeners_get_what_they_want_and_the_same_bytes(hub: Hub, key: Authenticated, scope: Scope) -> None:
    first, second, other = listen(key), listen(key), listen(key, types=["memory.deleted"])
    woken: list[Listener] = []
    for one in (first, second, other):
        one.wake = lambda one=one: woken.append(one)  # type: ignore[misc]
        hub.add(one)
    remember(scope, "The heron nests by the lock.")

    assert not hub.turn()

    frames = first.take()
    assert names(frames) == [b"memory.created"]
    assert second.take() is frames
    assert other.take() == b""
    assert woken == [first, second]
    assert other.position == first.position  # it need not read again what it does not want


def test_a_listener_is_left_nothing_more_until_it_has_taken_that(hub: Hub, key: Authenticated, scope: Scope) -> None:
    slow, quick = listen(key), listen(key)
    hub.add(slow)
    hub.add(quick)
    for number in range(3):
        remember(scope, f"The heron nests by lock {number}.")
        hub.turn()
        assert names(quick.take()) == [b"memory.created"]

    assert names(slow.take()) == [b"memory.created"]
    assert slow.take() == b""
    hub.turn()
    assert names(slow.take()) == [b"memory.created"] * 2


def test_who_is_far_behind_catches_up_in_pieces(
    hub: Hub, key: Authenticated, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "BATCH", 2)
    behind = listen(key)
    hub.add(behind)
    for number in range(5):
        remember(scope, f"The heron nests by lock {number}.")

    got, more = [], []
    for _ in range(3):
        more.append(hub.turn())
        got.append(len(names(behind.take())))

    assert got == [2, 2, 1]
    assert more == [True, True, False]


def test_a_silence_is_broken_by_a_line_that_holds_the_position(
    hub: Hub, key: Authenticated, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = listen(key, types=["memory.deleted"])
    hub.add(listener)
    remember(scope, "The heron nests by the lock.")
    hub.turn()
    assert listener.take() == b""

    monkeypatch.setattr(listeners, "HEARTBEAT_SECONDS", 0.0)
    hub.turn()

    assert listener.take() == b": nothing new\nid: %d\n\n" % listener.position


@pytest.mark.parametrize("cause", ["revoked", "closed"])
def test_the_streams_of_a_key_that_ends_are_ended(cause: str, hub: Hub, acme: OpenedTenant, scope: Scope) -> None:
    issued = make_api_key(acme.scope)
    gone = listen(authenticate(issued.text, now=datetime.now(UTC)))
    stays = listen(authenticate(make_api_key(acme.scope).text, now=datetime.now(UTC)))
    hub.add(gone)
    hub.add(stays)
    hub.turn()
    assert gone.take() == stays.take() == b""

    if cause == "revoked":
        keys.revoke(acme.scope, issued.key.pk, now=datetime.now(UTC))
    else:
        close_tenant(acme.tenant, actor="test:1", now=datetime.now(UTC))
    hub._checks_at = 0.0
    hub.turn()

    assert gone.take() is None
    assert (stays.take() is None) is (cause == "closed")
    assert listeners.CHECK_SECONDS <= 5


def test_an_end_user_who_is_unknown_at_first_is_heard_of_from_their_first_memory_on(
    hub: Hub, key: Authenticated, acme: OpenedTenant, scope: Scope
) -> None:
    listener = listen(key, end_user="dora")
    hub.add(listener)
    remember(scope, "The heron nests by the lock.")
    hub.turn()
    assert listener.take() == b""

    remember(make_scope(acme, "dora"), "Bees fly to the orchard.")
    hub.turn()

    assert names(listener.take()) == [b"memory.created"]


def test_a_listener_whose_position_is_dropped_meanwhile_is_told_and_ends(
    hub: Hub, key: Authenticated, scope: Scope
) -> None:
    listener = listen(key)
    hub.add(listener)
    remember(scope, "The heron nests by the lock.", now=datetime.now(UTC) - timedelta(days=3))
    event_log.sweep(key.scope, now=datetime.now(UTC))

    hub.turn()

    assert listener.take() == RESET
    assert listener.take() is None


def test_a_tenant_has_only_so_many_listeners_and_a_place_is_free_again(
    hub: Hub, key: Authenticated, globex: OpenedTenant, settings: object
) -> None:
    settings.EVENT_LISTENERS = 2  # type: ignore[attr-defined]
    first = listen(key)
    hub.add(first)
    hub.add(listen(key))

    with pytest.raises(TooManyListeners):
        hub.add(listen(key))
    hub.add(listen(authenticate(make_api_key(globex.scope).text, now=datetime.now(UTC))))
    first.close()
    hub.add(listen(key))


def test_one_tenant_s_failure_does_not_hold_up_another(
    hub: Hub, key: Authenticated, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = authenticate(make_api_key(globex.scope).text, now=datetime.now(UTC))
    hub.add(listen(key))
    theirs = listen(other)
    hub.add(theirs)
    usual = event_log.read_state

    def fail(scope: Scope) -> event_log.LogState:
        if scope.tenant_id == key.scope.tenant_id:
            raise RuntimeError
        return usual(scope)

    monkeypatch.setattr(event_log, "read_state", fail)
    monkeypatch.setattr(listeners.connections, "all", lambda **_: [])  # the test's own are fine
    remember(make_scope(globex), "Bees fly to the orchard.")
    hub.turn()

    assert names(theirs.take()) == [b"memory.created"]


def test_foreign_listeners_get_nothing(hub: Hub, key: Authenticated, acme: OpenedTenant, globex: OpenedTenant) -> None:
    foreign = listen(authenticate(make_api_key(globex.scope).text, now=datetime.now(UTC)))
    elsewhere = listen(key)
    elsewhere.only = replace(elsewhere.only, project_id=-1)
    hub.add(foreign)
    hub.add(elsewhere)
    remember(make_scope(acme, project_id=acme.project.pk), "The heron nests by the lock.")

    hub.turn()

    assert foreign.take() == b""
    assert elsewhere.take() == b""
