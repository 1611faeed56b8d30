"""`memsync types`, as a person and as a script use it."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.memory_types import change_worker
from apps.projects.scope import Scope
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

TEXTS = (
    "I take 20 mg of lisinopril every morning.",
    "I take 2 tablets of ibuprofen at night.",
    "My dog Biscuit sleeps on the blue sofa.",
)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_worker, "SETTLES", timedelta(0))


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    scope = make_scope(acme, now=datetime.now(UTC))
    remember(scope, [Proposal(text=Plaintext(text), importance=0.7) for text in TEXTS], now=datetime.now(UTC))
    return scope


def say(*arguments: str) -> str:
    out = io.StringIO()
    call_command("types", *arguments, stdout=out, stderr=io.StringIO())
    return " ".join(out.getvalue().split())


def say_json(*arguments: str) -> Any:
    out = io.StringIO()
    call_command("types", *arguments, "--json", stdout=out, stderr=io.StringIO())
    (line,) = out.getvalue().splitlines()
    return json.loads(line)


def types(scope: Scope) -> list[str]:
    with tenant_transaction(scope):
        return list(Memory.objects.within_tenant(scope).order_by("pk").values_list("type", flat=True))


ADD = ("add", "medication", "--like", "fact", "--slot", "own", "--words", "# mg,tablet*", "--ttl", "90d")


def test_a_dry_run_counts_and_shows_ids_and_no_word_of_what_they_say(scope: Scope) -> None:
    told = say_json(*ADD, "--dry-run", "--sample", "1")
    shown = say(*ADD, "--dry-run")

    assert told["rows"] == {"total": 3, "seen": 3, "changed": 2, "taken": 0, "broken": 0}
    assert told["by"] == [{"type": "fact", "rule": "words", "rows": 2}]
    (sample,) = told["sample"]
    assert (sample["type"], sample["becomes"], sample["has_key"]) == ("fact", "medication", True)
    assert "Of 3 memories 2 would become medication" in shown
    for word in ("lisinopril", "ibuprofen", "Biscuit"):
        assert word not in shown + json.dumps(told)
    assert types(scope) == ["fact"] * 3


def test_a_type_is_added_and_the_work_seen_through(scope: Scope) -> None:
    shown = say(*ADD, "--wait")

    assert shown == "acme: 2 of 3 memories are medication now."
    assert types(scope) == ["medication", "medication", "fact"]
    (change,) = say_json("status")
    assert change["rows"] | {"seen": 3} == {
        "total": 3, "seen": 3, "changed": 2, "taken": 0, "broken": 0, "restored": 0, "kept": 0,
    }  # fmt: skip
    assert "add medication" in say("status")
    listed = {one["name"]: one for one in say_json("list")}
    assert listed["medication"]["memories"] == 2
    assert listed["medication"]["ttl_seconds"] == 90 * 86_400
    assert "own.medication" in say("list")


def test_without_waiting_the_rest_is_done_by_workers_or_resumed_here(scope: Scope) -> None:
    told = say_json(*ADD)
    assert told["state"] == "running"
    assert types(scope) == ["fact"] * 3

    resumed = say_json("resume")

    assert (resumed["change"], resumed["state"]) == (told["change"], "done")
    assert types(scope) == ["medication", "medication", "fact"]


def test_a_change_is_undone(scope: Scope) -> None:
    change = say_json(*ADD, "--wait")["change"]

    assert say_json("undo", str(change), "--dry-run")["rows"] == 2
    assert say("undo", str(change), "--wait") == "acme: 2 memories are as before; 0 were changed since."
    assert types(scope) == ["fact"] * 3


def test_types_are_split_and_given_up(scope: Scope, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"name": "pets", "words": ["dog", "cat"], "unless": ["hot dog"]}]))

    split = say_json("split", "pet", "--from", "fact", "--rules", str(rules), "--wait")
    assert (split["kind"], split["rows"]["changed"]) == ("split", 1)
    assert types(scope)[2] == "pet"

    ended = say_json("sunset", "pet", "--into", "fact", "--wait")
    assert (ended["sources"], ended["type"], ended["rows"]["changed"]) == (["pet"], "fact", 1)
    assert types(scope) == ["fact"] * 3
    assert "sunset into fact" in say("list")


def test_a_type_is_added_with_fields_and_the_dry_run_counts_their_values(scope: Scope, tmp_path: Path) -> None:
    fields = tmp_path / "fields.json"
    fields.write_text(json.dumps([{"name": "dosage", "kind": "text", "units": ["mg"]}]))
    defined = ("--field", "active:boolean", "--field", "name:text:required", "--fields", str(fields))

    assert say_json(*ADD, *defined[:2], *defined[4:], "--dry-run")["fields"] == {"active": 0, "dosage": 1}
    assert "Values found in their texts: active 0, dosage 1." in say(*ADD, *defined[:2], *defined[4:], "--dry-run")
    say(*ADD, *defined, "--wait")

    (told,) = [one for one in say_json("list") if one["name"] == "medication"]
    assert [(one["name"], one["kind"], one["required"]) for one in told["fields"]] == [
        ("active", "boolean", False), ("name", "text", True), ("dosage", "text", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "fact", "--words", "x"), "with this name exists already"),
        (("split", "constraint", "--from", "fact"), "the words or the keys"),
        (("sunset", "fact", "--into", "event"), "built-in type cannot be retired"),
        (("undo", "99"), "no such change"),
        (("resume",), "no such change"),
        (("split", "pet", "--from", "fact", "--rules", "/nonexistent"), "no list of rules"),
        (("add", "pet", "--fields", "/nonexistent"), "no list of fields"),
        (("add", "pet", "--field", "name:json"), "name: its kind is one of"),
        (("add", "pet", "--field", "name:text:always"), "NAME:KIND"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(scope: Scope, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        say(*arguments)
