"""`memsync keys`, as a person and as a script use it."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.adapters.instances import get_kms
from apps.adapters.kms.fake import FakeKms
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.crypto import key_cache
from apps.crypto.models import TenantKey
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management import scheduler
from apps.projects.scope import Scope
from apps.recall import read_log
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.fixture(autouse=True)
def kms(settings: Any) -> Iterator[FakeKms]:
    settings.KMS = {"BACKEND": "apps.adapters.kms.fake.FakeKms", "OPTIONS": {}}
    key_cache.forget_all()
    fake = get_kms()
    assert isinstance(fake, FakeKms)
    yield fake
    key_cache.forget_all()


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    scope = make_scope(acme, now=datetime.now(UTC))
    texts = ("My dog Biscuit sleeps on the blue sofa.", "Parcel 17 went to the harbour office in Lisbon.")
    remember(scope, [Proposal(text=Plaintext(text), importance=0.7) for text in texts], now=datetime.now(UTC))
    yield scope
    read_log.flush()


def say(*arguments: str) -> str:
    out = io.StringIO()
    call_command("keys", *arguments, stdout=out, stderr=io.StringIO())
    return " ".join(out.getvalue().split())


def say_json(*arguments: str) -> Any:
    out = io.StringIO()
    call_command("keys", *arguments, "--json", stdout=out, stderr=io.StringIO())
    (line,) = out.getvalue().splitlines()
    return json.loads(line)


def test_a_key_is_rotated_and_the_work_seen_through(scope: Scope) -> None:
    said = say_json("rotate", "--wait", "--reason", "audit of 2026")

    assert (said["tenant"], said["state"], said["from"], said["to"]) == ("acme", "done", 1, 2)
    assert said["rows_done"] == said["rows_total"] > 0
    status = say_json("status")[0]
    assert (status["active"], status["live"], status["compromised"]) == (2, [1, 2], False)
    assert status["rows"] == {"2": said["rows_done"]}
    assert [(key["kind"], key["version"], key["state"]) for key in status["keys"]] == [
        ("root", 2, "active"), ("root", 1, "read_only"), ("identity", 1, "active"),
    ]  # fmt: skip


def test_without_waiting_it_says_what_follows(scope: Scope) -> None:
    assert "acme seals under version 2 from now on" in say("rotate")
    assert "rows are under version 2" in say("status")


def test_a_dry_run_counts_and_changes_nothing(scope: Scope) -> None:
    assert say_json("rotate", "--dry-run")["rows"]["acme"] > 0
    assert say_json("status")[0]["active"] == 1


def test_all_tenants_at_once(scope: Scope, globex: OpenedTenant) -> None:
    said = say_json("rotate", "--all", "--wait")

    assert sorted((one["tenant"], one["state"], one["to"]) for one in said) == [
        ("acme", "done", 2), ("globex", "done", 2),
    ]  # fmt: skip


def test_a_compromise_replaces_the_identity_key_too(scope: Scope) -> None:
    assert say_json("rotate", "--compromised", "--wait")["identity_to"] == 2
    assert say_json("status")[0]["compromised"]
    assert "compromised" in say("status")


def test_nothing_of_a_key_is_shown(scope: Scope) -> None:
    say("rotate", "--wait")
    shown = say("status") + json.dumps(say_json("status"))

    for row in TenantKey.objects.all():
        assert bytes(row.wrapped or b"").hex() not in shown
        assert bytes(row.check_value).hex() not in shown


def test_with_several_tenants_one_must_be_named(scope: Scope, globex: OpenedTenant) -> None:
    with pytest.raises(CommandError, match="Name the tenant with --tenant") as refused:
        say("rotate")
    assert refused.value.returncode == 2


def test_a_second_rotation_is_refused_in_one_sentence(scope: Scope) -> None:
    say("rotate")

    with pytest.raises(CommandError, match="being rotated already"):
        say("rotate")


def test_a_reason_that_is_too_long_is_not_understood(scope: Scope) -> None:
    with pytest.raises(CommandError, match="at most 64") as refused:
        say("rotate", "--reason", "x" * 65)
    assert refused.value.returncode == 2


def test_every_key_is_wrapped_anew(scope: Scope, kms: FakeKms) -> None:
    kms.add_version()

    behind = say_json("rewrap", "--dry-run")
    assert behind["to"] == "2"
    assert say_json("rewrap") == {"to": "2", "done": behind["behind"], "failed": 0}
    assert say_json("rewrap", "--dry-run")["behind"] == 0


def test_keys_that_do_not_unwrap_end_it_with_an_error(scope: Scope, kms: FakeKms) -> None:
    TenantKey.objects.filter(kind="root").update(wrapped=b"?" * 80)
    kms.add_version()

    with pytest.raises(CommandError, match="1 keys cannot be unwrapped"):
        say("rewrap")


def test_a_key_is_destroyed_only_after_its_tenant_was_typed(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    say("rotate", "--wait")
    scheduler.run_due_key_work(now=datetime.now(UTC) + timedelta(days=31))
    monkeypatch.setattr("builtins.input", lambda: "globex")
    with pytest.raises(CommandError, match="Nothing was destroyed"):
        say("destroy", "1")

    monkeypatch.setattr("builtins.input", lambda: "acme")
    assert "is destroyed" in say("destroy", "1")

    assert {key["version"]: key["state"] for key in say_json("status")[0]["keys"] if key["kind"] == "root"} == {
        2: "active", 1: "destroyed",
    }  # fmt: skip


def test_a_key_in_use_is_not_destroyed(scope: Scope) -> None:
    with pytest.raises(CommandError, match="only a retired key"):
        say("destroy", "1", "--yes")
