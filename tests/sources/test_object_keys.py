"""When keys turn, external objects stay the same objects, and say the same."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto.services import DecryptError
from apps.ingest.objects import GivenObject, TakenObject, end_object, take_object
from apps.key_management import rotation
from apps.memories import integrity
from apps.memories.models import Memory, QuarantinedRow
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from apps.sources.models import ExternalObject
from apps.sources.sealing import ObjectName
from apps.sources.selectors import ObjectNotFound, get_object, list_objects
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

NAME = ObjectName(kind="api", external_id="wiki/house")
HOUSE = "The boiler key hangs behind the blue door."
ROOF = "The roof of the shed was painted in May."


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def take(scope: Scope, text: str = HOUSE, **how: Any) -> TakenObject:
    return take_object(scope, "alice", GivenObject(name=NAME, content=text.encode(), title="House"), now=NOW, **how)


def turn_keys(scope: Scope, **how: Any) -> None:
    asked = rotation.rotate(scope, reason="test", now=NOW, **how)
    assert rotation.work(asked.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER


def test_after_a_rotation_an_object_is_known_and_unchanged(scope: Scope) -> None:
    made = take(scope)

    turn_keys(scope)

    assert get_object(scope, made.object.id, now=NOW) == (made.object, made.memory_ids)
    assert take(scope).status == "unchanged"


def test_after_a_compromise_an_object_is_read_again_and_doubles_nothing(scope: Scope) -> None:
    made = take(scope)

    turn_keys(scope, is_compromise=True)
    again = take(reread_space(scope))

    assert (again.status, again.object.id, again.memory_ids) == ("refreshed", made.object.id, made.memory_ids)
    assert (again.kept, again.added, again.ended) == (1, 0, [])
    assert take(reread_space(scope), ROOF).ended == [*made.memory_ids]


def test_an_object_that_is_gone_says_nothing_until_it_is_back(scope: Scope) -> None:
    made = take(scope)

    gone = end_object(scope, made.object.id, now=NOW)
    back = take(scope)

    assert (gone.status, gone.ended, gone.object.gone_at) == ("gone", [*made.memory_ids], NOW)
    assert (back.status, back.object.gone_at, back.added) == ("refreshed", None, 1)
    assert set(back.memory_ids).isdisjoint(made.memory_ids)


def test_objects_that_do_not_decrypt_are_put_aside(scope: Scope) -> None:
    made = take(scope)
    with tenant_transaction(scope):
        ExternalObject.objects.within(scope).filter(pk=made.object.id).update(about_ct=b"\x00" * 80)

    with pytest.raises(DecryptError):
        get_object(scope, made.object.id, now=NOW)

    assert list_objects(scope, kind=None, before=None, limit=9, now=NOW).objects == []
    integrity.flush()
    with tenant_transaction(scope):
        (listed,) = QuarantinedRow.objects.within(scope)
        assert Memory.objects.within(scope).count() == 1
    assert (listed.table, listed.record_id) == ("external_object", made.object.id)


def test_of_nobody_there_is_no_object(acme: OpenedTenant) -> None:
    for wanted in (1, 0, 2**63):
        with pytest.raises(ObjectNotFound):
            get_object(acme.scope, wanted, now=NOW)
    assert list_objects(acme.scope, kind=None, before=None, limit=9, now=NOW).objects == ()
