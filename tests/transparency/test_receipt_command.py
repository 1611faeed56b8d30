"""`memsync shred` and `memsync receipt` for people, and a receipt checked where nothing else of memsync is."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.erasure import legal_holds
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.policies.models import Level
from apps.projects.scope import Scope
from apps.transparency.receipts import ReceiptVerdict
from tests.makers import NOW, make_scope

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def run(*arguments: str, **options: Any) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue()


def say(scope: Scope, *texts: str) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6) for text in texts]
    return [one for outcome in remember(scope, proposals, now=NOW) for one in outcome.memory_ids]


def verify(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """In a process that has neither settings nor a database."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "memsync.cli", "receipt", "verify", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=60, env=bare | {"MEMSYNC_HOME": "/nonexistent"},
    )  # fmt: skip


def test_a_receipt_is_downloaded_and_checked_with_its_keys_alone(acme: OpenedTenant, tmp_path: Path) -> None:
    alice = make_scope(acme)
    dog, home = say(alice, "My dog Biscuit sleeps on the blue sofa.", "I live in Lisbon.")
    run("shred", "memory", str(home), "--yes", "--json")
    (tmp_path / "older").write_text(run("receipt", "checkpoint"))
    done = json.loads(run("shred", "memory", str(dog), "--yes", "--json"))
    keys, file = tmp_path / "keys.json", tmp_path / "receipt.json"
    keys.write_text(run("receipt", "keys"))
    run("receipt", "download", done["receipt"], "--to", str(file), "--since", "1")
    checked = (file, "--keys", keys, "--checkpoint", tmp_path / "older")

    found = verify(*checked, "--target", f"memories:{dog}", "--json")

    assert (found.returncode, found.stderr) == (0, "")
    said = json.loads(found.stdout)
    assert (said["verdict"], said["target"]["memory_ids"]) == ("genuine", [dog])
    assert said["receipt"]["authorised"]["method"] == "command line"
    assert "What was erased: memories:" in verify(*checked).stdout
    assert verify(*checked, "--target", f"memories:{home}").returncode == ReceiptVerdict.WRONG_TARGET
    file.write_text(file.read_text().replace('"memories": 1', '"memories": 2'))
    forged = verify(*checked)
    assert forged.returncode == ReceiptVerdict.BAD_SIGNATURE
    assert forged.stderr.startswith("memsync: bad_signature: the signature does not fit")
    assert verify(tmp_path / "none", "--keys", keys).returncode == 2
    assert verify(keys, "--keys", keys).returncode == ReceiptVerdict.MALFORMED


def test_receipts_are_listed_and_shown(acme: OpenedTenant) -> None:
    assert "Nothing was erased." in run("receipt", "list")
    assert "Nothing was erased." in run("receipt", "checkpoint")
    (dog,) = say(make_scope(acme), "My dog Biscuit sleeps on the blue sofa.")
    receipt = json.loads(run("shred", "topic", str(dog), "--yes", "--json"))["receipt"]

    (line,) = json.loads(run("receipt", "list", "--json"))
    shown = run("receipt", "show", receipt)

    assert (line["receipt"], line["kind"], line["phase"]) == (receipt, "topic", "deleted")
    assert receipt in run("receipt", "list")
    assert f"topic:{dog}" in shown
    assert "memories: 1" in shown
    with pytest.raises(CommandError, match="no such receipt"):
        run("receipt", "show", "rcp_" + "0" * 32)


def test_shredding_asks_shows_and_keeps_its_hands_off_when_it_is_not_confirmed(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dog,) = say(make_scope(acme), "My dog Biscuit sleeps on the blue sofa.")
    monkeypatch.setattr("builtins.input", lambda _: "no")

    with pytest.raises(CommandError, match="Nothing was erased"):
        run("shred", "memory", str(dog))
    with pytest.raises(CommandError, match="there is no prompt") as refused:
        run("shred", "memory", str(dog), "--json")
    planned = json.loads(run("shred", "memory", str(dog), "--dry-run", "--json"))

    assert refused.value.returncode == 2
    assert (planned["done"], planned["counts"]["memories"]) == (False, 1)
    monkeypatch.setattr("builtins.input", lambda _: "1")
    assert "erased" in run("shred", "memory", str(dog))


@pytest.mark.parametrize("verb", ["space", "person", "project", "tenant"])
def test_each_thing_is_shredded_by_its_name(acme: OpenedTenant, verb: str) -> None:
    say(make_scope(acme, project_id=acme.project.pk), "My dog Biscuit sleeps on the blue sofa.")
    said = {
        "space": ["--user", "alice"], "person": ["alice"], "project": [acme.project.public_id], "tenant": ["acme"],
    }  # fmt: skip

    done = json.loads(run("shred", verb, *said[verb], "--yes", "--json"))

    assert (done["kind"], done["counts"]["memories"]) == ("end_user" if verb == "person" else verb, 1)
    assert done["receipt"].startswith("rcp_")
    assert json.loads(run("shred", "resume", "--json"))["carried_through"] == 0


def test_the_example_of_the_documentation_checks_a_receipt(acme: OpenedTenant, tmp_path: Path) -> None:
    (dog,) = say(make_scope(acme), "My dog Biscuit sleeps on the blue sofa.")
    receipt = json.loads(run("shred", "memory", str(dog), "--yes", "--json"))["receipt"]
    (tmp_path / "keys.json").write_text(run("receipt", "keys"))
    file = tmp_path / "receipt.json"
    run("receipt", "download", receipt, "--to", str(file))
    example = (ROOT / "docs/erasure.md").read_text().split("```python\n")[1].split("```")[0]

    genuine = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True, cwd=tmp_path)
    file.write_text(file.read_text().replace('"memories": 1', '"memories": 2'))
    forged = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert f"'memory_ids': [{dog}]" in genuine.stdout
    assert "InvalidSignature" in forged.stderr


def test_memory_that_is_missing_is_named_and_the_others_stay(acme: OpenedTenant) -> None:
    dog, home = say(make_scope(acme), "My dog Biscuit sleeps on the blue sofa.", "I live in Lisbon.")

    with pytest.raises(CommandError, match=r"^Nothing was erased. These memories do not exist: 900001, 900002\.$"):
        run("shred", "memory", str(dog), "900001", str(home), "900002", "--yes")

    assert json.loads(run("shred", "memory", str(dog), str(home), "--dry-run", "--json"))["counts"]["memories"] == 2


def test_erasure_that_a_hold_blocks_names_its_case(acme: OpenedTenant, globex: OpenedTenant) -> None:
    legal_holds.hold(acme.scope, Level.TENANT, 0, case="2026-117", now=NOW)
    say(make_scope(acme), "I live in Lisbon.")

    with pytest.raises(CommandError, match=r"Nothing was erased\. Details: kind legal_hold, reference 2026-117\.$"):
        run("shred", "tenant", "acme", "--yes")


def test_tenant_that_was_shredded_needs_no_telling_apart(acme: OpenedTenant, globex: OpenedTenant) -> None:
    with pytest.raises(CommandError, match="--tenant NAME"):
        run("receipt", "list")

    run("shred", "tenant", "globex", "--yes")

    assert "Nothing was erased." in run("receipt", "list")
