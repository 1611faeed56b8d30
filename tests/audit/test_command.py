"""`memsync audit` for people: what it prints, how it ends, and what the admin shows of the same rows."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent, Checkpoint
from apps.transparency import checkpoints
from apps.transparency.tasks import checkpoint
from tests.audit.conftest import Attack, entries, note
from tests.makers import NOW
from tests.web.people import make_operator

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def run(*arguments: str, **options: Any) -> str:
    output = StringIO()
    call_command("audit", *arguments, stdout=output, **options)
    return output.getvalue()


def test_whole_trail_is_said_to_be_whole(acme: OpenedTenant) -> None:
    note(acme, "a")

    assert "No row was changed" in run("verify")
    assert "1 chains" in run("verify", tenant="acme")


def test_bad_row_is_named_and_the_command_ends_with_one(acme: OpenedTenant, attack: Attack) -> None:
    note(acme, "a", "b")
    victim = entries(acme.scope.tenant_id)[-1]
    attack(f"update audit_auditevent set actor = 'x' where id = {victim.id}")  # noqa: S608

    with pytest.raises(CommandError, match=rf"tenant {acme.scope.tenant_id}, row {victim.seq}: edit") as refused:
        run("verify")

    assert refused.value.returncode == 1


def test_row_that_cannot_even_be_read_is_a_refusal_and_no_crash(acme: OpenedTenant, attack: Attack) -> None:
    attack("update audit_auditevent set created_at = 'infinity'")

    with pytest.raises(CommandError, match="was changed"):
        run("verify", json=True)


def test_other_tenants_trouble_is_not_a_tenants_own(acme: OpenedTenant, globex: OpenedTenant, attack: Attack) -> None:
    attack(f"delete from audit_auditevent where tenant_id = {globex.scope.tenant_id}")  # noqa: S608

    assert json.loads(run("verify", tenant="acme", json=True))["whole"]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"checkpoint": "absent"}, 2, "cannot be read"),
        ({"checkpoint": "."}, 2, "is a directory: name it with --from-dir"),
        ({"checkpoint": "empty"}, 2, "holds no checkpoint"),
        ({"from_dir": "absent"}, 2, "cannot be read"),
        ({"from_dir": "."}, 2, "holds no checkpoint"),
        ({"file": "absent", "key": bytes(32)}, 2, "cannot be read"),
        ({"file": "absent"}, 2, "--key"),
    ],
)
def test_file_that_is_not_there_is_said(options: dict[str, Any], code: int, says: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    options = {name: tmp_path / one if isinstance(one, str) else one for name, one in options.items()}

    with pytest.raises(CommandError, match=says) as refused:
        run("verify", **options)

    assert refused.value.returncode == code


def test_tenant_that_is_not_there_is_said() -> None:
    with pytest.raises(CommandError) as refused:
        run("verify", tenant="nobody")

    assert refused.value.returncode == 1


def test_list_shows_what_is_asked_for(acme: OpenedTenant, globex: OpenedTenant) -> None:
    note(acme, "mine")
    note(globex, "theirs")

    shown = run("list", tenant="acme", action="test.", json=True)

    assert [event["target"] for event in json.loads(shown)] == ["mine"]
    assert "No rows match" in run("list", tenant="acme", actor="nobody")
    with pytest.raises(CommandError, match="--tenant"):
        run("list")


def test_checkpoint_can_be_taken_by_hand_and_by_the_schedule(acme: OpenedTenant) -> None:
    note(acme, "a")

    assert "Checkpoint 1" in run("checkpoint")
    assert "No rows were added" in run("checkpoint")
    checkpoints.take_checkpoint(now=NOW + timedelta(days=900))
    checkpoint()
    assert Checkpoint.objects.count() == 1


def test_key_is_the_one_that_checkpoints_are_signed_with(acme: OpenedTenant) -> None:
    signed = checkpoints.take_checkpoint(now=NOW)

    assert signed is not None
    assert checkpoints.is_signed(signed, bytes.fromhex(run("key").strip()))


def test_operators_see_the_chain_and_how_far_it_is_signed(acme: OpenedTenant) -> None:
    note(acme, "a")
    client = make_operator("operator@example.org").show_factor()
    unsigned = client.get(reverse("admin:audit_auditevent_changelist")).content.decode()
    checkpoints.take_checkpoint(now=NOW)
    note(acme, "b")

    shown = client.get(reverse("admin:audit_auditevent_changelist"), {"outcome": "ok"}).content.decode()
    row = AuditEvent.objects.using("operator").order_by("-id").first()
    assert row is not None
    single = client.get(reverse("admin:audit_auditevent_change", args=[row.pk])).content.decode()

    assert "No checkpoint has been signed yet" in unsigned
    assert "Signed up to 2026-11-21 12:00 UTC" in shown
    assert "1 since then" in shown
    assert row.hash in single
    assert row.prev_hash in single
    assert 'name="_save"' not in single
