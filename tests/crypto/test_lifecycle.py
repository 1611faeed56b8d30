"""Keys step by step: begun, put to use, retired, destroyed, rewrapped; and a step that dies in between is repeated."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from apps.adapters.instances import get_kms
from apps.adapters.kms.fake import FakeKms
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto import key_cache, keyring, lifecycle, services
from apps.crypto.lifecycle import KeyInUse, KeyNotFound, RowsRemain
from apps.crypto.models import READING_WINDOW, KeyKind, ServiceKey, TenantKey, TenantKeyState
from apps.crypto.services import DecryptError, KeysUnavailable, open_space
from apps.projects.scope import Scope
from apps.projects.selectors import scope_in
from apps.tenants.models import Organization, Tenant

pytestmark = pytest.mark.django_db(databases=["default", "keyring"])

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FIELD = "memory.text"
TEXT = Plaintext("The user is allergic to penicillin.")


@dataclass(frozen=True)
class Space:
    uid: uuid.UUID = field(default_factory=lambda: uuid.UUID(int=1))
    environment: str = "production"
    identity_version: int = 1
    is_sealed: bool = False

    @property
    def identity_uid(self) -> uuid.UUID:
        return self.uid


HERE = Space()


class Died(Exception):
    """The process ended here."""


@pytest.fixture(autouse=True)
def kms(settings: Any) -> Iterator[FakeKms]:
    settings.KMS = {"BACKEND": "apps.adapters.kms.fake.FakeKms", "OPTIONS": {}}
    key_cache.forget_all()
    fake = get_kms()
    assert isinstance(fake, FakeKms)
    yield fake
    key_cache.forget_all()


def new_scope(name: str) -> Scope:
    organization = Organization.objects.create(name=name, created_at=NOW)
    tenant = Tenant.objects.create(organization=organization, name=name, created_at=NOW)
    services.create_tenant_keys(tenant, now=NOW)
    return scope_in(tenant)


@pytest.fixture
def scope() -> Scope:
    return new_scope("acme")


def turn(scope: Scope, *, window: timedelta = READING_WINDOW) -> int:
    version = lifecycle.begin(scope, reason="test", now=NOW)
    lifecycle.promote(scope, version, window=window, now=NOW)
    with tenant_transaction(scope):
        lifecycle.flip(scope, version, reason="test", now=NOW)
    return version


def states(scope: Scope, kind: KeyKind = KeyKind.ROOT) -> dict[int, str]:
    return {key.version: key.state for key in lifecycle.key_facts(scope) if key.kind == kind}


def state_of(scope: Scope) -> TenantKeyState:
    with tenant_transaction(scope):
        return TenantKeyState.objects.within(scope).get()


def noted(scope: Scope, action: str) -> int:
    with tenant_transaction(scope):
        return AuditEvent.objects.filter(tenant_id=scope.tenant_id, action=action).count()


def nothing() -> int:
    return 0


# --- turning --------------------------------------------------------------------------------------------------------


def test_after_a_turn_writers_use_the_new_key_and_the_old_one_opens(scope: Scope) -> None:
    old = open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT)

    assert turn(scope) == 2

    cipher = open_space(scope.tenant, HERE)
    assert cipher.key_version == 2
    assert cipher.open(FIELD, 7, old) == TEXT
    assert states(scope) == {2: "active", 1: "read_only"}
    (key,) = [key for key in lifecycle.key_facts(scope) if key.version == 1 and key.kind == KeyKind.ROOT]
    assert key.read_only_until == NOW + timedelta(days=30)


def test_a_cipher_made_before_the_turn_opens_what_was_sealed_after_it(scope: Scope) -> None:
    before = open_space(scope.tenant, HERE)

    turn(scope)
    new = open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT)

    assert before.open(FIELD, 7, new) == TEXT


def test_a_version_that_never_was_is_looked_up_once_and_refused(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attacker who writes rows with made-up versions must not cost a query each."""
    cipher = open_space(scope.tenant, HERE)
    forged = bytearray(cipher.seal(FIELD, 7, TEXT))
    forged[2:6] = (99).to_bytes(4, "big")
    looked: list[int] = []
    monkeypatch.setattr(keyring, "versions", _counted(keyring.versions, looked))

    for _ in range(5):
        with pytest.raises(DecryptError):
            cipher.open(FIELD, 7, bytes(forged))

    assert len(looked) == 1


def _counted(real: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        calls.append(1)
        return real(*args, **options)

    return call


def test_a_key_that_does_not_unwrap_is_not_promoted(scope: Scope, kms: FakeKms) -> None:
    lifecycle.begin(scope, reason="test", now=NOW)
    kms.down = True

    with pytest.raises(KeysUnavailable):
        lifecycle.begin(scope, reason="test", now=NOW)

    assert states(scope) == {2: "pending", 1: "active"}


def test_beginning_again_takes_up_the_key_that_waits(scope: Scope) -> None:
    assert [lifecycle.begin(scope, reason="test", now=NOW) for _ in range(3)] == [2, 2, 2]


@pytest.mark.parametrize("dies_after", ["begin", "promote", "flip"])
def test_whoever_dies_between_two_steps_leaves_keys_that_work_and_the_repeat_ends_the_turn(
    scope: Scope, dies_after: str
) -> None:
    old = open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT)
    version = lifecycle.begin(scope, reason="test", now=NOW)
    if dies_after != "begin":
        lifecycle.promote(scope, version, now=NOW)
    if dies_after == "flip":
        with tenant_transaction(scope):
            lifecycle.flip(scope, version, reason="test", now=NOW)

    between = open_space(scope.tenant, HERE)
    written = between.seal(FIELD, 8, TEXT)
    assert between.open(FIELD, 7, old) == TEXT
    assert between.key_version == state_of(scope).active_version
    lifecycle.promote(scope, version, now=NOW + timedelta(days=1))
    with tenant_transaction(scope):
        lifecycle.flip(scope, version, reason="test", now=NOW)

    after = open_space(scope.tenant, HERE)
    assert after.key_version == 2
    assert after.open(FIELD, 7, old) == after.open(FIELD, 8, written) == TEXT
    assert states(scope) == {2: "active", 1: "read_only"}
    assert noted(scope, "key.rotate") == 1


def test_a_turn_that_is_undone_leaves_the_old_key_in_use(scope: Scope) -> None:
    version = lifecycle.begin(scope, reason="test", now=NOW)
    lifecycle.promote(scope, version, now=NOW)

    with tenant_transaction(scope):
        before_the_flip = transaction.savepoint()
        lifecycle.flip(scope, version, reason="test", now=NOW)
        transaction.savepoint_rollback(before_the_flip)

    assert open_space(scope.tenant, HERE).key_version == 1


# --- out of use -----------------------------------------------------------------------------------------------------


def test_a_key_with_one_row_left_is_not_retired(scope: Scope) -> None:
    old = open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT)
    turn(scope)

    with pytest.raises(RowsRemain):
        lifecycle.retire(scope, 1, remaining=lambda: 1, now=NOW)

    assert states(scope)[1] == "read_only"
    assert open_space(scope.tenant, HERE).open(FIELD, 7, old) == TEXT


def test_a_retired_key_opens_nothing_and_is_kept(scope: Scope) -> None:
    old = open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT)
    turn(scope)

    lifecycle.retire(scope, 1, remaining=nothing, now=NOW)

    with pytest.raises(DecryptError):
        open_space(scope.tenant, HERE).open(FIELD, 7, old)
    assert state_of(scope).live_versions == [2]
    assert TenantKey.objects.get(tenant_uid=scope.tenant.uid, kind="root", version=1).wrapped is not None


def test_retiring_again_after_dying_half_way_ends_it(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(scope)
    with monkeypatch.context() as patch:
        patch.setattr(lifecycle, "retire_in_keyring", _dies)
        with pytest.raises(Died):
            lifecycle.retire(scope, 1, remaining=nothing, now=NOW)
    assert (states(scope)[1], state_of(scope).live_versions) == ("read_only", [2])

    lifecycle.retire(scope, 1, remaining=nothing, now=NOW)

    assert states(scope)[1] == "retired"


def _dies(*args: Any, **options: Any) -> None:
    raise Died


@pytest.mark.parametrize("step", ["retire", "destroy"])
def test_the_key_in_use_is_neither_retired_nor_destroyed(scope: Scope, step: str) -> None:
    turn(scope)

    with pytest.raises(KeyInUse):
        getattr(lifecycle, step)(scope, 2, remaining=nothing, now=NOW)


def test_only_a_retired_key_without_rows_is_destroyed(scope: Scope) -> None:
    turn(scope)
    with pytest.raises(KeyInUse):
        lifecycle.destroy(scope, 1, remaining=nothing, now=NOW)
    lifecycle.retire(scope, 1, remaining=nothing, now=NOW)
    with pytest.raises(RowsRemain):
        lifecycle.destroy(scope, 1, remaining=lambda: 1, now=NOW)

    lifecycle.destroy(scope, 1, remaining=nothing, now=NOW)

    row = TenantKey.objects.get(tenant_uid=scope.tenant.uid, kind="root", version=1)
    assert (row.state, row.wrapped, row.destroyed_at) == ("destroyed", None, NOW)


def test_what_was_under_a_destroyed_key_never_opens_and_nothing_else_fails(scope: Scope) -> None:
    old = open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT)
    lifecycle.mark_compromised(scope, now=NOW)
    turn(scope, window=timedelta(0))
    new = open_space(scope.tenant, HERE).seal(FIELD, 8, TEXT)

    lifecycle.destroy(scope, 1, remaining=lambda: 1, despite_rows=True, now=NOW)

    cipher = open_space(scope.tenant, HERE)
    assert cipher.open(FIELD, 8, new) == TEXT
    with pytest.raises(DecryptError):
        cipher.open(FIELD, 7, old)
    with pytest.raises(services.KeysMissing):
        open_space(scope.tenant, HERE, version=1)


def test_consent_alone_does_not_destroy_a_key_that_is_still_read(scope: Scope) -> None:
    turn(scope)

    with pytest.raises(KeyInUse):
        lifecycle.destroy(scope, 1, remaining=lambda: 1, despite_rows=True, now=NOW)


def test_a_version_that_never_was_cannot_be_destroyed(scope: Scope) -> None:
    with pytest.raises(KeyNotFound):
        lifecycle.destroy(scope, 9, remaining=nothing, now=NOW)


def test_destroying_twice_is_destroying_once(scope: Scope) -> None:
    turn(scope)
    lifecycle.retire(scope, 1, remaining=nothing, now=NOW)

    for _ in range(2):
        lifecycle.destroy(scope, 1, remaining=nothing, now=NOW)

    assert noted(scope, "key.destroy") == 1


# --- compromise -----------------------------------------------------------------------------------------------------


def test_a_compromise_destroys_the_key_that_waited_and_takes_a_fresh_one(scope: Scope) -> None:
    lifecycle.begin(scope, reason="test", now=NOW)

    lifecycle.mark_compromised(scope, now=NOW)

    assert turn(scope, window=timedelta(0)) == 3
    assert states(scope) == {3: "active", 2: "destroyed", 1: "read_only"}
    assert [key for key, *_ in lifecycle.due_for_retirement(now=NOW)] == [scope.tenant.uid]
    assert state_of(scope).compromised


def test_earlier_keys_of_a_compromised_tenant_lose_their_window_too(scope: Scope) -> None:
    turn(scope)
    lifecycle.mark_compromised(scope, now=NOW)

    turn(scope, window=timedelta(0))

    assert {version for _, _, version in lifecycle.due_for_retirement(now=NOW)} == {1, 2}


def test_it_is_over_when_the_last_compromised_key_is_retired(scope: Scope) -> None:
    turn(scope)
    lifecycle.mark_compromised(scope, now=NOW)
    turn(scope, window=timedelta(0))

    lifecycle.retire(scope, 1, remaining=nothing, now=NOW)
    assert state_of(scope).compromised
    lifecycle.retire(scope, 2, remaining=nothing, now=NOW)
    assert not state_of(scope).compromised


def test_both_identity_keys_can_be_used_while_spaces_are_keyed_anew(scope: Scope) -> None:
    before = open_space(scope.tenant, HERE).identity_mac("slot", "tea")
    version = lifecycle.begin(scope, kind=KeyKind.IDENTITY, reason="test", now=NOW)

    lifecycle.promote(scope, version, kind=KeyKind.IDENTITY, now=NOW)
    lifecycle.raise_epoch(scope)

    assert open_space(scope.tenant, HERE).identity_mac("slot", "tea") == before
    assert open_space(scope.tenant, Space(identity_version=2)).identity_mac("slot", "tea") != before
    assert states(scope, KeyKind.IDENTITY) == {2: "active", 1: "read_only"}


# --- counting -------------------------------------------------------------------------------------------------------


def test_what_is_sealed_is_counted_and_reported_when_the_keys_are_dropped(scope: Scope) -> None:
    cipher = open_space(scope.tenant, HERE)
    for number in range(5):
        cipher.seal(FIELD, number, TEXT)

    lifecycle.raise_epoch(scope)
    open_space(scope.tenant, HERE)

    assert TenantKey.objects.get(tenant_uid=scope.tenant.uid, kind="root").seals == 5


def test_after_a_million_uses_the_keys_are_unwrapped_anew(
    scope: Scope, kms: FakeKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_cache, "MAX_USES", 10)
    cipher = open_space(scope.tenant, HERE)
    before = kms.calls["unwrap"]

    for number in range(9):
        cipher.seal(FIELD, number, TEXT)
    open_space(scope.tenant, HERE)
    assert kms.calls["unwrap"] == before
    cipher.open(FIELD, 9, cipher.seal(FIELD, 9, TEXT))
    open_space(scope.tenant, HERE)

    assert kms.calls["unwrap"] == before + 2


@pytest.mark.parametrize(("days", "seals", "is_due"), [(364, 0, False), (365, 0, True), (1, 100, True), (1, 99, False)])
def test_a_key_is_due_when_it_is_old_or_was_used_often(scope: Scope, days: int, seals: int, is_due: bool) -> None:
    TenantKey.objects.filter(tenant_uid=scope.tenant.uid).update(seals=seals)

    due = lifecycle.due_for_rotation(max_age=timedelta(days=365), max_seals=100, now=NOW + timedelta(days=days))

    assert due == ([scope.tenant.uid] if is_due else [])


# --- rewrapping -----------------------------------------------------------------------------------------------------


def wrapped_by(version: str) -> int:
    tenants = TenantKey.objects.filter(kek_version=version).count()
    return tenants + ServiceKey.objects.filter(kek_version=version).count()


@pytest.fixture
def many(scope: Scope) -> list[Scope]:
    """Nine keys: four tenants' and one of the deployment."""
    services.service_key("pepper")
    return [scope, *(new_scope(name) for name in ("globex", "initech", "umbrella"))]


def test_every_key_is_wrapped_anew_and_none_is_another(many: list[Scope], kms: FakeKms) -> None:
    blobs = [open_space(scope.tenant, HERE).seal(FIELD, 7, TEXT) for scope in many[:1]]
    pepper = services.service_key("pepper").key
    kms.add_version()

    assert lifecycle.rewrap(dry_run=True).done == wrapped_by("1") == 9
    assert lifecycle.rewrap().done == 9

    key_cache.forget_all()
    assert (wrapped_by("1"), wrapped_by("2")) == (0, 9)
    assert open_space(many[0].tenant, HERE).open(FIELD, 7, blobs[0]) == TEXT
    assert services.service_key("pepper").key == pepper
    assert lifecycle.rewrap().done == 0


def test_stopped_half_way_it_goes_on_where_it_was(
    many: list[Scope], kms: FakeKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "REWRAP_BATCH", 2)
    kms.add_version()

    def stop(done: int) -> None:
        if done >= 4:
            raise Died

    with pytest.raises(Died):
        lifecycle.rewrap(progress=stop)
    half = wrapped_by("2")
    assert 4 <= half < 9

    assert lifecycle.rewrap().done == 9 - half


def test_with_the_provider_down_the_old_form_stays(many: list[Scope], kms: FakeKms) -> None:
    kms.add_version()
    kms.down = True

    with pytest.raises(KeysUnavailable):
        lifecycle.rewrap()

    kms.down = False
    assert wrapped_by("1") == 9


def test_a_key_that_does_not_unwrap_is_left_as_it_is_and_the_others_are_done(many: list[Scope], kms: FakeKms) -> None:
    broken = TenantKey.objects.get(tenant_uid=many[1].tenant.uid, kind="root")
    TenantKey.objects.filter(pk=broken.pk).update(wrapped=b"?" * 80)
    kms.add_version()

    rewrapped = lifecycle.rewrap()

    assert (rewrapped.done, rewrapped.failed) == (8, 1)
    broken.refresh_from_db()
    assert (bytes(broken.wrapped or b""), broken.kek_version) == (b"?" * 80, "1")


def test_a_provider_that_returns_another_key_does_not_get_it_stored(
    many: list[Scope], kms: FakeKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    kms.add_version()
    monkeypatch.setattr(kms, "rewrap", lambda wrapped, ctx: kms.wrap(bytes(32), ctx))

    with pytest.raises(KeysUnavailable):
        lifecycle.rewrap()

    assert wrapped_by("1") == 9


def test_provider_s_key_goes_with_a_tenant_only_when_it_wraps_nobody_else_s(kms: FakeKms) -> None:
    alone, *sharing = (new_scope(name) for name in ("acme", "globex", "initech"))
    TenantKey.objects.filter(tenant_uid=alone.tenant.uid).update(kek_ref="acme's own")

    destroyed = [services.destroy_own_keks(scope.tenant.uid) for scope in (alone, *sharing)]

    assert (destroyed, kms.calls["destroy"]) == ([1, 0, 0], 1)
