"""Scope: whose data, and nothing beyond it."""

import uuid
from dataclasses import FrozenInstanceError, replace

import pytest

from apps.projects.scope import SYSTEM, Environment, Principal, Scope, SpaceKind, SpaceRef, TenantRef


def space(number: int, environment: Environment = Environment.PRODUCTION) -> SpaceRef:
    return SpaceRef(
        id=number, uid=uuid.UUID(int=number), environment=environment, kind=SpaceKind.END_USER, owner_id=number
    )


@pytest.fixture
def scope() -> Scope:
    return Scope(
        tenant=TenantRef(id=7, uid=uuid.UUID(int=7), name="acme"),
        environment=Environment.PRODUCTION,
        principal=Principal(kind="key", id=3),
        project_id=5,
        permissions=frozenset({"memory:read"}),
    )


def test_a_scope_reaches_no_space_until_told(scope: Scope) -> None:
    assert scope.spaces == ()
    assert scope.tenant_id == 7


def test_reaching_spaces_changes_nothing_else(scope: Scope) -> None:
    reaching = scope.in_spaces(space(1), space(2))

    assert [one.id for one in reaching.spaces] == [1, 2]
    assert reaching.in_spaces() == scope
    assert scope.spaces == ()


def test_a_space_of_another_environment_is_out_of_reach(scope: Scope) -> None:
    with pytest.raises(ValueError, match="own environment"):
        scope.in_spaces(space(1), space(2, Environment.STAGING))


def test_a_read_of_several_environments_is_one_part_for_each(scope: Scope) -> None:
    wide = replace(scope, also_reads=(Environment.STAGING,)).in_spaces(space(1), space(2, Environment.STAGING))

    first, second = wide.parts()

    assert first == scope.in_spaces(space(1))
    assert second == replace(scope, environment=Environment.STAGING).in_spaces(space(2, Environment.STAGING))
    with pytest.raises(ValueError, match="own environment"):
        wide.in_spaces(space(3, Environment.DEVELOPMENT))


def test_the_one_space_of_a_scope_that_writes(scope: Scope) -> None:
    assert scope.in_spaces(space(4)).space == space(4)
    for reaching in (scope, scope.in_spaces(space(1), space(2))):
        with pytest.raises(ValueError, match="values to unpack"):
            _ = reaching.space


def test_a_scope_cannot_be_changed_in_place(scope: Scope) -> None:
    with pytest.raises(FrozenInstanceError):
        scope.project_id = None  # type: ignore[misc]


def test_principals_are_named_by_kind_and_row() -> None:
    assert Principal(kind="key", id=3).label == "key:3"
    assert SYSTEM.label == "system:0"
