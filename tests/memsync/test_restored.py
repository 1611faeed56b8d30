"""After a restore: the keyring says which keys there are, and every tenant's rows are counted and tried."""

import pytest
from django.db.models import F

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.models import TenantKeyState
from apps.crypto.services import follow_keyring
from apps.erasure.restore_inspection import inspect
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management import rotation
from apps.projects.scope import Scope
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = ("My dog Biscuit sleeps on the blue sofa.", "I am allergic to penicillin.")


def said_by(opened: OpenedTenant) -> Scope:
    scope = make_scope(opened)
    remember(scope, [Proposal(text=Plaintext(text), importance=0.7) for text in SAID], now=NOW)
    return scope


def key_state(scope: Scope) -> tuple[int, list[int]]:
    with tenant_transaction(scope):
        state = TenantKeyState.objects.within(scope).get()
    return state.active_version, state.live_versions


def test_rows_of_every_tenant_are_counted_once_and_opened(acme: OpenedTenant, globex: OpenedTenant) -> None:
    for opened in (acme, globex):
        said_by(opened)

    found = inspect()

    assert (found.tenants, found.spaces, found.memories, found.opened, found.failed) == (2, 2, 4, 4, 0)
    assert (found.memories_without_key, found.spaces_without_salt) == (0, 0)


def test_key_versions_of_a_backup_become_those_of_the_keyring(acme: OpenedTenant, globex: OpenedTenant) -> None:
    mine, other = said_by(acme), said_by(globex)
    before = key_state(mine)
    rotation.rotate(mine, reason="test", now=NOW)
    after = key_state(mine)
    with tenant_transaction(mine):
        TenantKeyState.objects.within(mine).update(
            active_version=before[0], live_versions=before[1], key_epoch=F("key_epoch") + 1
        )

    follow_keyring(acme.tenant, now=NOW)

    assert key_state(mine) == after != before
    assert key_state(other) == before
