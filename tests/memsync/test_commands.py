"""`memsync tenant` and `memsync key`, as a person and as a script use them."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command, load_command_class

from apps.adapters.kms.base import KeyUnavailable
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.apikeys.selectors import KeyExpired, KeyRevoked, authenticate, list_keys
from apps.apikeys.services import revoke
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.crypto.services import KeysUnavailable
from apps.projects.scope import Environment
from apps.tenants.selectors import get_tenant, list_tenants
from memsync.management.commands import key
from memsync.management.commands.prepare import refuse_foreign_keys
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")


def say(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def say_json(*arguments: str) -> Any:
    (line,) = say(*arguments, "--json").splitlines()
    return json.loads(line)


def right_now() -> datetime:
    return datetime.now(UTC)


# -- tenants ---------------------------------------------------------------------------------------------------------


def test_new_tenant_is_described_as_up_describes_the_first_one() -> None:
    said = say_json("tenant", "create", "acme", "--organization", "Acme Corporation")

    assert list(said) == ["url", "tenant", "project", "keys", "operator", "owner", "retention", "started_in_s"]
    assert said["tenant"] == "acme"
    assert said["operator"] is said["owner"] is None
    for environment, text in said["keys"].items():
        who = authenticate(text, now=right_now())
        assert (who.tenant.name, who.environment.value) == ("acme", environment)
    assert get_tenant("acme").organization.name == "Acme Corporation"


def test_person_is_shown_the_keys_whole() -> None:
    shown = say("tenant", "create", "acme")

    (key,) = [word for word in shown.split() if word.startswith("ms_live_")]
    assert authenticate(key, now=right_now()).tenant.name == "acme"


def test_taken_name_is_refused_in_one_sentence(acme: OpenedTenant) -> None:
    with pytest.raises(CommandError, match="There is a tenant of this name already"):
        say("tenant", "create", "acme")


def test_tenants_are_listed(acme: OpenedTenant, globex: OpenedTenant) -> None:
    assert [tenant["tenant"] for tenant in say_json("tenant", "list")] == ["acme", "globex"]
    assert "globex" in say("tenant", "list")


def test_policy_is_set(acme: OpenedTenant) -> None:
    assert say_json("tenant", "policy", "acme", "key_deletes=retire") == {"tenant": "acme", "key_deletes": "retire"}
    assert get_tenant("acme").key_deletes == "retire"
    assert "refuse every delete" in say("tenant", "policy", "acme", "key_deletes=deny")


def test_quota_is_set_shown_and_taken_away(acme: OpenedTenant) -> None:
    made = say_json("tenant", "quota", "acme", "--mode", "strict", "--adds", "100")

    assert made["mode"] == "strict"
    assert made["meters"] == [
        {"meter": "adds", "used": 0, "limit": 100},
        {"meter": "retrievals", "used": 0, "limit": None},
    ]
    assert "Quota of acme: strict" in say("tenant", "quota", "acme")
    assert say_json("tenant", "quota", "acme", "--mode", "off")["mode"] == "off"
    with pytest.raises(CommandError, match="--mode"):
        say("tenant", "quota", "acme", "--adds", "5")


@pytest.mark.parametrize("setting", ["key_deletes=erase", "key_deletes", "retire", "other=deny"])
def test_policy_that_does_not_exist_is_not_understood(acme: OpenedTenant, setting: str) -> None:
    with pytest.raises(CommandError) as refused:
        say("tenant", "policy", "acme", setting)

    assert refused.value.returncode == 2


def test_audit_names_the_command_and_who_ran_it(acme: OpenedTenant) -> None:
    say("tenant", "policy", "acme", "key_deletes=retire")

    with tenant_transaction(acme.scope):
        row = AuditEvent.objects.filter(action="tenant.policy").get()
    assert row.actor.startswith("command:")


# -- keys ------------------------------------------------------------------------------------------------------------


def test_key_is_issued_as_asked(acme: OpenedTenant, globex: OpenedTenant) -> None:
    project = make_project(acme.scope, "Chatbot")

    said = say_json(
        *("key", "issue", "--tenant", "acme", "--environment", "staging", "--name", "ci"),
        *("--scopes", "memory:read,memory:add", "projects:read", "--project", project, "--expires-in", "12h"),
    )

    who = authenticate(said["key"], now=right_now())
    assert (who.tenant.name, who.environment) == ("acme", Environment.STAGING)
    assert who.permissions == {"memory:read", "memory:add", "projects:read"}
    assert (said["project_id"], said["name"], said["state"]) == (project, "ci", "active")
    assert said["key"].startswith(said["prefix"])
    with pytest.raises(KeyExpired):
        authenticate(said["key"], now=right_now() + timedelta(hours=12))


def test_key_of_several_environments_is_at_home_in_the_first(acme: OpenedTenant) -> None:
    said = say_json("key", "issue", "--environment", "staging", "--environment", "development", "--name", "compare")

    assert (said["environment"], said["other_environments"]) == ("staging", ["development"])
    assert authenticate(said["key"], now=right_now()).also_reads == (Environment.DEVELOPMENT,)
    assert "acme, staging, development" in say("key", "rotate", str(said["id"]))
    for name, count in (("staging", 3), ("development", 3), ("production", 1)):
        assert len(say_json("key", "list", "--environment", name)) == count
    assert "development" in say("key", "list", "--environment", "staging")


def test_key_for_the_only_tenant_needs_no_name(acme: OpenedTenant) -> None:
    assert say_json("key", "issue")["tenant"] == "acme"
    assert tuple(say_json("key", "issue")["scopes"]) == DEFAULT


def test_one_of_several_tenants_must_be_named(acme: OpenedTenant, globex: OpenedTenant) -> None:
    with pytest.raises(CommandError, match="There are: acme, globex"):
        say("key", "list")


def test_list_shows_states_and_no_secret(acme: OpenedTenant) -> None:
    issued = make_api_key(acme.scope, name="left over")
    revoke(acme.scope, issued.key.pk, now=right_now())

    told, shown = say_json("key", "list", "--tenant", "acme"), say("key", "list", "--tenant", "acme")

    assert {(key["name"], key["state"]) for key in told} == {("left over", "revoked"), ("first key", "active")}
    for text in (issued.text, *acme.keys.values()):
        assert text not in shown + json.dumps(told)
        assert text.split("_")[3] not in shown + json.dumps(told)
    assert len(say_json("key", "list", "--tenant", "acme", "--environment", "staging")) == 1


@pytest.mark.parametrize("handle", ["id", "prefix"])
def test_key_is_rotated_with_grace(acme: OpenedTenant, handle: str) -> None:
    project = make_project(acme.scope, "Chatbot")
    old = say_json("key", "issue", "--project", project, "--name", "ci")

    said = say_json("key", "rotate", str(old[handle]), "--grace", "2h")

    assert (said["project_id"], said["name"], said["replaces"]["id"]) == (project, "ci", old["id"])
    assert authenticate(said["key"], now=right_now())
    assert authenticate(old["key"], now=right_now() + timedelta(minutes=119))
    with pytest.raises(KeyExpired):
        authenticate(old["key"], now=right_now() + timedelta(hours=2))


def test_leaked_key_is_rotated_without_grace(acme: OpenedTenant) -> None:
    old = say_json("key", "issue")

    assert "revoked now" in say("key", "rotate", str(old["id"]), "--grace", "0")

    with pytest.raises(KeyRevoked):
        authenticate(old["key"], now=right_now())


def test_key_is_revoked(acme: OpenedTenant) -> None:
    issued = say_json("key", "issue")

    assert say_json("key", "revoke", str(issued["id"]))["state"] == "revoked"

    with pytest.raises(KeyRevoked):
        authenticate(issued["key"], now=right_now())


def test_leaked_key_may_be_named_whole_and_is_not_repeated(acme: OpenedTenant, globex: OpenedTenant) -> None:
    leaked = acme.keys[Environment.PRODUCTION]

    with pytest.raises(CommandError) as refused:
        say("key", "revoke", leaked, "--tenant", "globex")
    say("key", "revoke", leaked, "--tenant", "acme")

    assert leaked not in str(refused.value)
    with pytest.raises(KeyRevoked):
        authenticate(leaked, now=right_now())


def test_list_cuts_nothing_off_in_a_narrow_terminal(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    say("key", "issue", "--tenant", "acme", "--name", "n" * 60, "--scopes", "memory:forget_request")

    shown = say("key", "list", "--tenant", "acme")

    assert "…" not in shown
    assert all(f"{key.prefix} " in shown for key in list_keys(acme.scope))


def test_table_in_a_pipe_is_as_wide_as_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    opened = say("tenant", "create", "n" * 60, "--organization", "m" * 60)

    (line,) = [line for line in say("tenant", "list").splitlines() if "n" * 60 in line]

    assert "m" * 60 in line
    assert max(map(len, [*opened.splitlines(), line])) < 300


def test_another_tenants_key_is_not_found(acme: OpenedTenant, globex: OpenedTenant) -> None:
    theirs = list_keys(globex.scope)[0]

    with pytest.raises(CommandError, match=f"acme has no key {theirs.pk}"):
        say("key", "revoke", str(theirs.pk), "--tenant", "acme")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scopes", "memory:erase"), "Unknown scopes: memory:erase"),
        (("--expires-in", "366d"), "within 365 days"),
        (("--project", "proj_0000000000000000"), "There is no such project"),
        (("--tenant", "initech"), "There is no tenant with this name"),
    ],
)
def test_key_that_cannot_be_is_refused_with_the_reason(
    acme: OpenedTenant, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        say("key", "issue", *arguments)


# -- from a shell ----------------------------------------------------------------------------------------------------


def test_refusal_is_one_line_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("tenant", "policy", "initech", "key_deletes=deny") == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == ["memsync: There is no tenant with this name; `memsync tenant list` shows all."]


@pytest.mark.parametrize(
    "arguments",
    [
        ("tenant",),
        ("tenant", "policy", "acme", "key_deletes=erase"),
        ("key", "issue", "--environment", "moon"),
        ("key", "issue", "--expires-in", "soon"),
        ("audit", "list", "--since", "999999d"),
    ],
)
def test_what_is_not_understood_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert _exit_code(*arguments) == 2


def test_no_tenants_yet_says_how_to_make_one() -> None:
    assert list_tenants() == []
    assert "memsync tenant create NAME" in say("tenant", "list")


def _exit_code(*arguments: str) -> Any:
    """As ``run_from_argv`` does it, but leaving the test's connections open."""
    command = load_command_class("memsync", arguments[0])
    command._called_from_command_line = True  # type: ignore[attr-defined]
    try:
        options = vars(command.create_parser("memsync", arguments[0]).parse_args(list(arguments[1:])))
        command.execute(**options)
    except SystemExit as ended:
        return ended.code
    return 0


def test_key_provider_that_does_not_work_says_why(capsys: pytest.CaptureFixture[str], acme: OpenedTenant) -> None:
    reason = KeyUnavailable("/home/kek.json is not a keyring file")

    for error in (reason, KeysUnavailable()):
        error.__cause__ = reason if error is not reason else None
        with patch.object(key.Command, "handle", side_effect=error):
            assert _exit_code("key", "list") == 1
        assert capsys.readouterr().err.endswith("/home/kek.json is not a keyring file\n")


def test_prepare_refuses_keys_of_another_provider_or_deployment(acme: OpenedTenant, settings: Any) -> None:
    settings.DEPLOYMENT_ID = "another"

    with pytest.raises(CommandError, match=r"was not created by this deployment: it cannot be unwrapped\. Set DEPLOY"):
        refuse_foreign_keys()
