"""Moving to another key provider: nothing is lost on the way, and nothing opens that did not before."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.instances import LocalKekNotAllowed, get_kms
from apps.adapters.kms.base import KeyMismatch, KeyUnavailable
from apps.adapters.kms.migrating import Moving
from apps.crypto import key_cache, lifecycle
from apps.crypto.services import open_tenant
from tests import makers
from tests.contracts.key_providers import CTX, KEY, Local, Service, vault


@pytest.fixture
def old(tmp_path: Path) -> Local:
    return Local(tmp_path)


@pytest.fixture
def new() -> Iterator[Service]:
    with vault() as made:
        yield made


@pytest.fixture
def moving(old: Local, new: Service) -> Moving:
    return Moving(to=new.setting(), away_from=old.setting())


def test_keys_of_both_open_and_new_ones_are_the_new_providers(moving: Moving, old: Local, new: Service) -> None:
    earlier = old.provider.wrap(KEY, CTX)

    wrapped = moving.wrap(KEY, CTX)

    assert wrapped.provider == moving.name == "vault"
    assert moving.unwrap(wrapped, CTX) == moving.unwrap(earlier, CTX) == KEY
    assert new.provider.unwrap(wrapped, CTX) == KEY


def test_rewrapped_key_needs_the_old_provider_no_more(moving: Moving, old: Local, new: Service) -> None:
    rewrapped = moving.rewrap(old.provider.wrap(KEY, CTX), CTX)

    old.take_down()

    assert new.provider.unwrap(rewrapped, CTX) == KEY
    assert rewrapped.version == moving.current_version()
    assert new.provider.unwrap(moving.rewrap(rewrapped, CTX), CTX) == KEY


def test_context_is_held_to_on_the_way(moving: Moving, old: Local) -> None:
    earlier = old.provider.wrap(KEY, CTX)

    for ctx in ({**CTX, "t": "globex"}, {**CTX, "d": "elsewhere"}, {**CTX, "v": "2"}, {**CTX, "p": "tenant-identity"}):
        for wrapped in (earlier, moving.wrap(KEY, CTX)):
            with pytest.raises(KeyMismatch):
                moving.unwrap(wrapped, ctx)
            with pytest.raises(KeyMismatch):
                moving.rewrap(wrapped, ctx)


def test_key_of_a_third_provider_is_refused(moving: Moving, old: Local) -> None:
    with pytest.raises(KeyMismatch):
        moving.unwrap(dataclasses.replace(old.provider.wrap(KEY, CTX), provider="elsewhere"), CTX)


def test_either_being_down_is_seen(moving: Moving, old: Local, new: Service) -> None:
    moving.health()
    earlier = old.provider.wrap(KEY, CTX)

    new.take_down()
    with pytest.raises(KeyUnavailable):
        moving.health()
    with pytest.raises(KeyUnavailable):
        moving.rewrap(earlier, CTX)
    new.bring_up()
    old.take_down()
    with pytest.raises(KeyUnavailable):
        moving.health()


def test_key_in_a_file_may_be_left_and_not_moved_to_without_leave(
    settings: Any, moving: Moving, old: Local, new: Service
) -> None:
    path = "apps.adapters.kms.migrating.Moving"
    settings.ALLOW_LOCAL_KEK = False

    settings.KMS = {"BACKEND": path, "OPTIONS": {"to": new.setting(), "away_from": old.setting()}}
    assert get_kms().name == "vault"

    settings.KMS = {"BACKEND": path, "OPTIONS": {"to": old.setting(), "away_from": new.setting()}}
    with pytest.raises(LocalKekNotAllowed):
        get_kms()


@pytest.mark.django_db(databases="__all__")
def test_rewrap_leaves_no_tenants_key_behind_though_versions_are_called_alike(
    settings: Any, old: Local, new: Service
) -> None:
    """Both providers are at their version 1."""
    settings.KMS = old.setting()
    acme = makers.make_tenant("acme").tenant
    settings.KMS = {
        "BACKEND": "apps.adapters.kms.migrating.Moving",
        "OPTIONS": {"to": new.setting(), "away_from": old.setting()},
    }

    behind = lifecycle.rewrap(dry_run=True).done
    assert lifecycle.rewrap().done == behind >= 2

    old.take_down()
    settings.KMS = new.setting()
    key_cache.forget_all()
    assert lifecycle.rewrap(dry_run=True).done == 0
    cipher = open_tenant(acme)
    assert cipher.open("tests.field", 1, cipher.seal("tests.field", 1, b"text")).reveal() == "text"


@pytest.mark.parametrize("to", [{}, {"BACKEND": "apps.nothing"}, {"BACKEND": "apps.adapters.kms.local.LocalKeyring"}])
def test_unusable_description_is_refused(to: dict[str, Any], old: Local) -> None:
    with pytest.raises(ImproperlyConfigured, match="away_from"):
        Moving(to=to, away_from=old.setting())
