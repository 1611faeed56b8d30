"""Keys of tenants and spaces: made once, kept briefly, dropped on command, and of no use to anybody else."""

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, connections, transaction

from apps.adapters.instances import get_kms
from apps.adapters.kms.fake import FakeKms
from apps.core.locks import TransactionRequired
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto import key_cache, keyring, services
from apps.crypto.models import KeyState, ServiceKey, ServiceName, SpaceSecret, TenantKey, TenantKeyState
from apps.crypto.services import DecryptError, SpaceCipher, open_space, open_tenant
from apps.tenants.models import Organization, Tenant

pytestmark = pytest.mark.django_db(databases=["default", "keyring"])

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FIELD = "memory.text"
TEXT = Plaintext("The user is allergic to penicillin.")


@dataclass(frozen=True)
class Space:
    uid: uuid.UUID
    environment: str = "production"
    identity_version: int = 1
    is_sealed: bool = False

    @property
    def identity_uid(self) -> uuid.UUID:
        return self.uid


HERE, ELSEWHERE = Space(uuid.UUID(int=1)), Space(uuid.UUID(int=2))


@dataclass(frozen=True)
class TenantId:
    tenant_id: int


@pytest.fixture(autouse=True)
def kms(settings: Any) -> Iterator[FakeKms]:
    settings.KMS = {"BACKEND": "apps.adapters.kms.fake.FakeKms", "OPTIONS": {}}
    key_cache.forget_all()
    fake = get_kms()
    assert isinstance(fake, FakeKms)
    yield fake
    key_cache.forget_all()


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


@pytest.fixture
def globex() -> Tenant:
    return new_tenant("globex")


def new_tenant(name: str) -> Tenant:
    organization = Organization.objects.create(name=name, created_at=NOW)
    tenant = Tenant.objects.create(organization=organization, name=name, created_at=NOW)
    services.create_tenant_keys(tenant, now=NOW)
    return tenant


def add_version(tenant: Tenant) -> None:
    """What a rotation does: the next root key becomes active, the old one may be read."""
    TenantKey.objects.filter(tenant_uid=tenant.uid, kind="root", state="active").update(state="read_only")
    row = TenantKey(tenant_uid=tenant.uid, kind="root", version=2, state="active")
    keyring.wrap_into(row, os.urandom(32))
    row.save()
    set_state(tenant, active_version=2, live_versions=[1, 2], key_epoch=2)


def set_state(tenant: Tenant, **values: Any) -> None:
    with tenant_transaction(TenantId(tenant.pk)):
        assert TenantKeyState.objects.within(TenantId(tenant.pk)).update(**values) == 1


def unwraps(kms: FakeKms) -> int:
    return kms.calls.get("unwrap", 0)


# --- what a cipher gives --------------------------------------------------------------------------------------------


def test_what_a_space_sealed_it_opens(acme: Tenant) -> None:
    blob = open_space(acme, HERE).seal(FIELD, 7, TEXT, revision=2)

    cipher = open_space(acme, HERE)

    assert cipher.open(FIELD, 7, blob, revision=2) == TEXT
    assert cipher.open_bytes(FIELD, 7, blob, revision=2) == TEXT.reveal().encode()
    assert cipher.key_version == 1


def test_no_one_else_opens_it(acme: Tenant, globex: Tenant) -> None:
    blob = open_space(acme, HERE).seal(FIELD, 7, TEXT)

    for cipher in (
        open_space(acme, ELSEWHERE),
        open_space(acme, replace(HERE, environment="staging")),
        open_space(globex, Space(uuid.UUID(int=3))),
    ):
        with pytest.raises(DecryptError):
            cipher.open(FIELD, 7, blob)
    here = open_space(acme, HERE)
    for field, record_id, revision in (("memory.summary", 7, 0), (FIELD, 8, 0), (FIELD, 7, 1)):
        with pytest.raises(DecryptError):
            here.open(field, record_id, blob, revision=revision)


def test_text_that_is_no_text_is_refused_without_quoting_it(acme: Tenant) -> None:
    cipher = open_space(acme, HERE)

    with pytest.raises(DecryptError) as caught:
        cipher.open(FIELD, 7, cipher.seal(FIELD, 7, b"secret\xff"))
    assert caught.value.__cause__ is None
    assert "secret" not in repr(caught.value)


def searchable(cipher: SpaceCipher) -> list[Any]:
    x = np.eye(1, 384, dtype=np.float32)
    return [
        *cipher.term_tokens(["tea"]),
        cipher.tag_token("tea"),
        cipher.filter_token("source", "tea"),
        cipher.filter_token("channel", "tea"),
        cipher.protect_vectors(x).tobytes(),
    ]


def lasting(cipher: SpaceCipher) -> list[Any]:
    return [
        cipher.identity_mac("slot", "tea"),
        cipher.identity_mac("text", "tea"),
        cipher.actor_token("tea"),
        cipher.session_token("tea"),
        cipher.public_id("fact", "user.drink", '"tea"'),
    ]


def test_tokens_differ_by_use_and_by_space(acme: Tenant, globex: Tenant) -> None:
    ciphers = [
        open_space(acme, HERE),
        open_space(acme, ELSEWHERE),
        open_space(acme, replace(HERE, environment="staging")),
        open_space(globex, Space(uuid.UUID(int=3))),
    ]

    given = [value for cipher in ciphers for value in (*searchable(cipher), *lasting(cipher))]

    assert len(set(given)) == len(given) == 40
    assert searchable(open_space(acme, HERE)) == searchable(ciphers[0])


def test_vectors_keep_their_ranks(acme: Tenant) -> None:
    cipher = open_space(acme, HERE)
    x = np.random.default_rng(1).normal(size=(20, 384)).astype(np.float32)

    y = cipher.protect_vectors(x)

    assert (np.argsort(x @ x[0]) == np.argsort(y @ y[0])).all()


def test_what_belongs_to_the_tenant_is_found_and_opened(acme: Tenant, globex: Tenant) -> None:
    blob = open_tenant(acme, writing=True).seal("end_user.external_id", 5, b"ann@example.com")
    mac = open_tenant(acme).end_user_mac("ann@example.com")

    assert open_tenant(acme).open("end_user.external_id", 5, blob).reveal() == "ann@example.com"
    assert open_tenant(acme).end_user_mac("ann@example.com") == mac
    assert open_tenant(globex).end_user_mac("ann@example.com") != mac
    with pytest.raises(DecryptError):
        open_tenant(globex).open("end_user.external_id", 5, blob)
    assert open_space(acme, HERE).identity_mac("end_user", "ann@example.com") != mac


# --- rotation -------------------------------------------------------------------------------------------------------


def test_new_version_seals_and_old_one_still_opens(acme: Tenant) -> None:
    before = open_space(acme, HERE)
    old = before.seal(FIELD, 7, TEXT)

    add_version(acme)

    after = open_space(acme, HERE)
    assert (after.key_version, services.live_versions(acme)) == (2, (1, 2))
    assert after.open(FIELD, 7, old) == TEXT
    assert after.open(FIELD, 7, after.seal(FIELD, 7, TEXT)) == TEXT
    assert not set(searchable(after)) & set(searchable(before))
    assert lasting(after) == lasting(before)
    assert searchable(open_space(acme, HERE, version=1)) == searchable(before)


def test_version_that_is_not_live_neither_opens_nor_seals(acme: Tenant) -> None:
    old = open_space(acme, HERE).seal(FIELD, 7, TEXT)
    add_version(acme)
    set_state(acme, live_versions=[2], key_epoch=3)

    with pytest.raises(DecryptError):
        open_space(acme, HERE).open(FIELD, 7, old)
    with pytest.raises(services.KeysMissing):
        open_space(acme, HERE, version=1)


def test_retired_key_is_not_loaded(acme: Tenant) -> None:
    add_version(acme)
    TenantKey.objects.filter(tenant_uid=acme.uid, version=1, kind="root").update(state="retired")
    set_state(acme, key_epoch=3)

    with pytest.raises(services.KeysMissing):
        open_space(acme, HERE, version=1)


# --- the process's cache --------------------------------------------------------------------------------------------


def test_keys_are_unwrapped_once(acme: Tenant, kms: FakeKms) -> None:
    for _ in range(3):
        open_space(acme, HERE)
        open_space(acme, ELSEWHERE)

    assert unwraps(kms) == 2  # root and identity


def test_raised_epoch_drops_the_keys_at_once(acme: Tenant, kms: FakeKms) -> None:
    open_space(acme, HERE)
    TenantKey.objects.filter(tenant_uid=acme.uid).update(state="destroyed", wrapped=None)
    open_space(acme, HERE)

    set_state(acme, key_epoch=2)

    with pytest.raises(services.KeysMissing):
        open_space(acme, HERE)


def test_keys_are_kept_for_five_minutes_at_most(acme: Tenant, kms: FakeKms) -> None:
    clock = Clock()
    cache = key_cache._Cache(clock)
    first = cache.space(acme.uid, HERE, 1, 1)

    clock.seconds = key_cache.KEEP_SECONDS * 0.79
    assert cache.space(acme.uid, HERE, 1, 1) is first
    clock.seconds = key_cache.KEEP_SECONDS
    assert cache.space(acme.uid, HERE, 1, 1) is not first
    assert unwraps(kms) == 4


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_least_used_tenants_and_spaces_go_first(
    acme: Tenant, globex: Tenant, kms: FakeKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_cache, "MAX_TENANTS", 2)
    monkeypatch.setattr(key_cache, "MAX_SPACES", 2)
    initech = new_tenant("initech")
    cache = key_cache._Cache()
    spaces = [Space(uuid.uuid4()) for _ in range(3)]

    cache.space(acme.uid, HERE, 1, 1)
    cache.space(globex.uid, spaces[0], 1, 1)
    cache.space(acme.uid, HERE, 1, 1)
    cache.space(initech.uid, spaces[1], 1, 1)

    assert list(cache._tenants) == [acme.uid, initech.uid]
    assert {name[0] for name in cache._spaces} == {acme.uid, initech.uid}
    cache.space(acme.uid, spaces[2], 1, 1)
    assert len(cache._spaces) == 2


def test_forked_child_starts_without_keys(acme: Tenant) -> None:
    open_space(acme, HERE)
    assert key_cache._cache._tenants

    child = os.fork()
    if child == 0:
        os._exit(len(key_cache._cache._tenants) + len(key_cache._cache._spaces))
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert key_cache._cache._tenants


def test_dropped_keys_are_overwritten() -> None:
    root, identity = bytearray(b"r" * 32), bytearray(b"i" * 32)

    held = key_cache._TenantKeys(epoch=1, expires=0, roots={1: root}, identities={1: identity})
    assert "r" * 32 not in repr(held)
    del held

    assert root == identity == bytes(32)


# --- the provider and the rows --------------------------------------------------------------------------------------


def test_provider_that_is_down_fails_closed_once_the_keys_are_gone(acme: Tenant, kms: FakeKms) -> None:
    blob = open_space(acme, HERE).seal(FIELD, 7, TEXT)
    kms.down = True

    assert open_space(acme, HERE).open(FIELD, 7, blob) == TEXT
    key_cache.forget_all()
    with pytest.raises(services.KeysUnavailable):
        open_space(acme, HERE)


def test_keys_of_one_tenant_do_not_serve_another(acme: Tenant, globex: Tenant) -> None:
    stolen = TenantKey.objects.get(tenant_uid=acme.uid, kind="root")
    TenantKey.objects.filter(tenant_uid=globex.uid, kind="root").update(
        wrapped=stolen.wrapped, kek_ref=stolen.kek_ref, kek_version=stolen.kek_version
    )

    with pytest.raises(services.KeysUnavailable):
        open_space(globex, HERE)


def test_key_that_is_not_the_rows_is_refused(acme: Tenant) -> None:
    row = TenantKey.objects.get(tenant_uid=acme.uid, kind="root")
    before = bytes(row.check_value)
    keyring.wrap_into(row, os.urandom(32))
    row.check_value = before
    row.save()

    with pytest.raises(services.KeysUnavailable):
        open_space(acme, HERE)


def test_deployment_is_part_of_the_key(acme: Tenant, settings: Any) -> None:
    open_space(acme, HERE)
    key_cache.forget_all()
    settings.DEPLOYMENT_ID = "elsewhere"

    with pytest.raises(services.KeysUnavailable):
        open_space(acme, HERE)


def test_keys_are_given_once(acme: Tenant) -> None:
    before = [bytes(row.check_value) for row in TenantKey.objects.filter(tenant_uid=acme.uid).order_by("id")]

    with pytest.raises(services.KeysExist):
        services.create_tenant_keys(acme, now=NOW)

    assert [bytes(row.check_value) for row in TenantKey.objects.filter(tenant_uid=acme.uid).order_by("id")] == before


def test_tenant_without_keys_is_told_so() -> None:
    organization = Organization.objects.create(name="bare", created_at=NOW)
    tenant = Tenant.objects.create(organization=organization, name="bare", created_at=NOW)

    with pytest.raises(services.KeysMissing):
        open_space(tenant, HERE)


@pytest.mark.django_db(databases=["default", "keyring"], transaction=True)
def test_writing_needs_a_transaction_of_the_caller(acme: Tenant) -> None:
    with tenant_transaction(TenantId(acme.pk)):
        assert open_space(acme, HERE, writing=True).key_version == 1

    assert open_space(acme, HERE).key_version == 1
    with pytest.raises(TransactionRequired):
        open_space(acme, HERE, writing=True)


@pytest.mark.django_db(databases=["default", "keyring"], transaction=True)
def test_rotation_waits_for_writers_and_writers_not_for_each_other(acme: Tenant) -> None:
    def elsewhere(work: Callable[[], Any]) -> Any:
        def run() -> Any:
            try:
                with tenant_transaction(TenantId(acme.pk)), connection.cursor() as cursor:
                    cursor.execute("set local lock_timeout = '50ms'")
                    return work()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(run).result()

    with tenant_transaction(TenantId(acme.pk)):
        open_space(acme, HERE, writing=True)

        assert elsewhere(lambda: open_space(acme, HERE, writing=True).key_version) == 1
        with pytest.raises(OperationalError, match="lock timeout"):
            elsewhere(lambda: TenantKeyState.objects.within(TenantId(acme.pk)).update(key_epoch=2))
    assert elsewhere(lambda: TenantKeyState.objects.within(TenantId(acme.pk)).update(key_epoch=2)) == 1


def test_another_tenants_transaction_reads_the_right_keys_and_keeps_its_own_view(acme: Tenant, globex: Tenant) -> None:
    add_version(globex)

    with tenant_transaction(TenantId(acme.pk)):
        assert open_space(globex, HERE).key_version == 2
        assert open_space(acme, ELSEWHERE).key_version == 1
        assert TenantKeyState.objects.within(TenantId(globex.pk)).count() == 0


# --- salts and service keys -----------------------------------------------------------------------------------------


def test_salt_is_made_once(acme: Tenant) -> None:
    assert keyring.space_salt(acme.uid, HERE.uid) == keyring.space_salt(acme.uid, HERE.uid)
    assert keyring.space_salt(acme.uid, HERE.uid) != keyring.space_salt(acme.uid, ELSEWHERE.uid)


def test_shredded_space_is_gone_for_good(acme: Tenant) -> None:
    open_space(acme, HERE)
    SpaceSecret.objects.filter(space_uid=HERE.uid).update(salt=None, destroyed_at=NOW)
    set_state(acme, key_epoch=2)

    with pytest.raises(services.SpaceShredded):
        open_space(acme, HERE)
    assert open_space(acme, ELSEWHERE)


def test_space_of_another_tenant_is_refused(acme: Tenant, globex: Tenant) -> None:
    open_space(acme, HERE)

    with pytest.raises(services.KeysMissing):
        open_space(globex, HERE)


def test_service_key_is_made_once_and_kept_by_version(kms: FakeKms) -> None:
    pepper = services.service_key("pepper")
    key_cache.forget_all()

    assert services.service_key("pepper") == services.service_key("pepper", 1) == pepper
    assert (pepper.version, len(pepper.key)) == (1, 32)
    assert services.service_key("cursor").key != pepper.key
    assert pepper.key.hex() not in repr(pepper)
    with pytest.raises(services.KeysMissing):
        services.service_key("pepper", 2)
    with pytest.raises(ValueError):
        services.service_key("salt")


@pytest.mark.django_db(databases=["default", "keyring"], transaction=True)
def test_all_who_ask_at_once_get_the_same(kms: FakeKms) -> None:
    tenant = uuid.uuid4()

    def ask(_: int) -> tuple[bytes, bytes]:
        try:
            return keyring.space_salt(tenant, HERE.uid), key_cache._Cache().service(ServiceName.AUDIT, None).key
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1


# --- what the database refuses --------------------------------------------------------------------------------------

STEPS = {
    (KeyState.PENDING, KeyState.ACTIVE),
    (KeyState.ACTIVE, KeyState.READ_ONLY),
    (KeyState.READ_ONLY, KeyState.RETIRED),
    *((state, KeyState.DESTROYED) for state in KeyState if state != KeyState.DESTROYED),
}


@pytest.mark.parametrize("old", KeyState)
def test_only_lawful_steps_are_taken(old: KeyState) -> None:
    for new in set(KeyState) - {old}:
        key = key_in_state(old)
        wrapped = None if new == KeyState.DESTROYED else b"wrapped"

        taken = changes(TenantKey.objects.filter(pk=key.pk), state=new, wrapped=wrapped)

        assert taken == ((old, new) in STEPS), (old, new)


def key_in_state(state: KeyState) -> TenantKey:
    key = TenantKey(tenant_uid=uuid.uuid4(), kind="root", version=1, state="pending", wrapped=b"w", check_value=b"c")
    key.save()
    for step in (KeyState.ACTIVE, KeyState.READ_ONLY, KeyState.RETIRED, KeyState.DESTROYED):
        if key.state == state:
            break
        key.state, key.wrapped = step, None if step == KeyState.DESTROYED else b"w"
        key.save()
    return key


def changes(rows: Any, **values: Any) -> bool:
    try:
        with transaction.atomic(using="keyring"):
            return bool(rows.update(**values))
    except IntegrityError:
        return False


def test_what_identifies_a_key_never_changes(acme: Tenant) -> None:
    rows = TenantKey.objects.filter(tenant_uid=acme.uid, kind="root")

    for change in (
        {"check_value": b"x" * 16},
        {"version": 2},
        {"tenant_uid": uuid.uuid4()},
        {"kind": "identity"},
        {"wrapped": None},
    ):
        assert not changes(rows, **change), change
    assert changes(rows, wrapped=b"rewrapped", kek_version="2")


def test_rows_of_keys_and_salts_are_never_deleted(acme: Tenant) -> None:
    keyring.space_salt(acme.uid, HERE.uid)
    services.service_key("pepper")

    for model in (TenantKey, SpaceSecret, ServiceKey):
        with pytest.raises(IntegrityError), transaction.atomic(using="keyring"):
            model.objects.all()._raw_delete("keyring")


def test_salt_can_only_be_destroyed(acme: Tenant) -> None:
    keyring.space_salt(acme.uid, HERE.uid)
    rows = SpaceSecret.objects.filter(space_uid=HERE.uid)

    assert not changes(rows, salt=b"x" * 32)
    assert not changes(rows, tenant_uid=uuid.uuid4())
    assert not changes(rows, salt=None)
    assert changes(rows, salt=None, destroyed_at=NOW)
    assert not changes(rows, salt=b"x" * 32, destroyed_at=None)


def test_two_active_keys_are_refused(acme: Tenant) -> None:
    second = TenantKey(tenant_uid=acme.uid, kind="root", version=2, state="active", wrapped=b"w", check_value=b"c")

    with pytest.raises(IntegrityError), transaction.atomic(using="keyring"):
        second.save()


@pytest.mark.parametrize(
    "values",
    [
        {"active_version": 2, "key_epoch": 2},
        {"active_version": 2, "live_versions": [1, 2]},
        {"key_epoch": 0},
        {"live_versions": [], "key_epoch": 2},
    ],
    ids=["active is not live", "epoch stays", "epoch falls", "none is live"],
)
def test_inconsistent_key_state_is_refused(acme: Tenant, values: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        set_state(acme, **values)


def test_key_tables_live_in_the_keyring_alone() -> None:
    tables = {alias: set(connections[alias].introspection.table_names()) for alias in ("default", "keyring")}

    assert {name for name in tables["default"] if name.startswith("crypto_")} == {"crypto_tenantkeystate"}
    assert tables["keyring"] - {"django_migrations"} == {
        "crypto_tenantkey",
        "crypto_spacesecret",
        "crypto_servicekey",
        "erasure_erasure",
        "erasure_erasureentry",
        "erasure_purge",
        "erasure_receipt",
        "erasure_receiptcheckpoint",
    }
    assert connections["keyring"].settings_dict["NAME"] != connections["default"].settings_dict["NAME"]
    assert settings.DEPLOYMENT_ID
