"""Spaces of agents and of projects: each has its own, and only who names the agent or is in the project reaches it."""

from dataclasses import replace

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.console.space_list import list_space_summaries
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto.services import DecryptError
from apps.erasure.targets import Target, find_target
from apps.ingest.typed import write_owned
from apps.key_management import rotation
from apps.memories.selectors import list_memories
from apps.memories.spaces import (
    ProjectMissing,
    SpaceOwner,
    find_end_user,
    find_owned,
    get_or_create_owned,
)
from apps.memories.typed import TypedMemory, canonical_json
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import find_project
from apps.tenants.models import EndUser
from tests.makers import NOW, make_project
from tests.shredding import shred_space

pytestmark = pytest.mark.django_db(databases="__all__")

HELPER, PROJECT = SpaceOwner.agent("helper"), SpaceOwner.project()
EVERY = (SpaceOwner.end_user("helper"), HELPER, PROJECT)


def say(scope: Scope, owner: SpaceOwner, text: str) -> None:
    memory = TypedMemory(type="fact", summary=Plaintext(text), content=Plaintext(canonical_json(text)))
    write_owned(scope, owner, [memory], now=NOW)


def said(scope: Scope, owner: SpaceOwner) -> list[str]:
    space = find_owned(scope, owner)
    if space is None:
        return []
    return [one.text.reveal() for one in list_memories(scope.in_spaces(space), limit=None, now=NOW).memories]


def inside(scope: Scope, public_id: str) -> Scope:
    project = find_project(scope, public_id)
    assert project is not None
    return replace(scope, project_id=project.pk)


def in_project(scope: Scope, name: str) -> Scope:
    return inside(scope, make_project(scope, name))


@pytest.fixture
def public_id(acme: OpenedTenant) -> str:
    return make_project(acme.scope, "Shop")


@pytest.fixture
def shop(acme: OpenedTenant, public_id: str) -> Scope:
    return inside(acme.scope, public_id)


def test_an_agent_a_person_of_its_name_and_a_project_have_a_space_each(shop: Scope) -> None:
    for owner in EVERY:
        say(shop, owner, f"of a space of kind {owner.kind}")

    assert [said(shop, owner) for owner in EVERY] == [[f"of a space of kind {owner.kind}"] for owner in EVERY]
    assert {find_owned(shop, owner).kind for owner in EVERY} == {owner.kind for owner in EVERY}  # type: ignore[union-attr]


@pytest.mark.parametrize("owner", EVERY, ids=lambda owner: owner.kind.value)
def test_what_was_written_elsewhere_is_out_of_reach(shop: Scope, globex: OpenedTenant, owner: SpaceOwner) -> None:
    say(shop, owner, "of the shop")
    other_project, other_tenant = in_project(shop, "Other"), in_project(globex.scope, "Shop")

    assert said(other_project, owner) == []
    assert said(replace(shop, environment=Environment.STAGING), owner) == []
    assert said(other_tenant, owner) == []
    assert said(shop, SpaceOwner.agent("another")) == []


def test_a_project_s_space_is_not_found_from_another_project_and_not_without_one(shop: Scope) -> None:
    say(shop, PROJECT, "of the shop")

    assert find_owned(in_project(shop, "Other"), PROJECT) is None
    assert find_owned(replace(shop, project_id=None), PROJECT) is None
    with pytest.raises(ProjectMissing):
        get_or_create_owned(replace(shop, project_id=None), PROJECT, now=NOW)


def test_a_second_use_finds_the_same_space(shop: Scope) -> None:
    for owner in EVERY:
        assert get_or_create_owned(shop, owner, now=NOW) == get_or_create_owned(shop, owner, now=NOW)


@pytest.mark.parametrize("owner", [HELPER, PROJECT], ids=lambda owner: owner.kind.value)
def test_a_space_that_was_given_another_owner_behind_our_back_is_refused(shop: Scope, owner: SpaceOwner) -> None:
    mine = get_or_create_owned(shop, owner, now=NOW)
    theirs = get_or_create_owned(in_project(shop, "Other"), SpaceOwner.project(), now=NOW)

    with tenant_transaction(shop), connection.cursor() as cursor:
        cursor.execute("delete from projects_space where id = %s", [mine.id])
        cursor.execute(
            "update projects_space set owner_id = %s, kind = %s where id = %s", [mine.owner_id, mine.kind, theirs.id]
        )

    with pytest.raises(DecryptError):
        find_owned(shop, owner)


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_an_agent_is_found_after_the_identity_key_was_replaced(shop: Scope) -> None:
    say(shop, HELPER, "of the helper")

    turn = rotation.rotate(shop, reason="lost", is_compromise=True, now=NOW)
    while rotation.work(turn.pk, seconds=60.0, workers=1, clock=lambda: NOW) != SliceOutcome.OVER:
        pass

    assert said(shop, HELPER) == ["of the helper"]


def test_the_console_names_agents_and_projects(shop: Scope) -> None:
    for owner in EVERY:
        say(shop, owner, "something")

    page = list_space_summaries(shop, Environment.PRODUCTION, limit=9, now=NOW)

    assert {one.owner.label for one in page.summaries} == {"helper", "agent helper", f"project {shop.project_id}"}


def test_an_agent_is_erased_like_an_end_user(shop: Scope) -> None:
    say(shop, HELPER, "of the helper")
    space = find_owned(shop, HELPER)
    assert space is not None

    assert [one.pk for one in find_target(shop, Target.end_user(space.owner_id)).spaces] == [space.id]
    shred_space(shop, space.uid, now=NOW)

    assert find_owned(shop, HELPER) is None
    with tenant_transaction(shop):
        assert not EndUser.objects.within(shop).filter(pk=space.owner_id).exists()


def test_erasing_a_project_covers_its_space_in_every_environment(shop: Scope, public_id: str) -> None:
    say(shop, PROJECT, "of the shop")
    say(replace(shop, environment=Environment.STAGING), PROJECT, "of the shop's staging")

    found = find_target(shop, Target.of_project(public_id))

    assert [(one.kind, one.environment) for one in found.spaces] == [("project", "production"), ("project", "staging")]
    assert len(found.memory_ids) == 2


def test_no_person_is_found_by_an_agent_s_name(shop: Scope) -> None:
    say(shop, HELPER, "of the helper")

    assert find_end_user(shop, "helper") is None
