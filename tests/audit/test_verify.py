"""What an attacker who owns the database can do to the trail, and that it is seen.  No trigger and no grant is in force
for these attacks; where the database alone cannot show it, a checkpoint stored elsewhere can."""

# ruff: noqa: S608  (attacks are SQL, put together here)

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.chain import NAMES
from apps.audit.checkpoint_statement import Signed
from apps.audit.models import Checkpoint
from apps.crypto import signatures
from apps.transparency import checkpoints
from apps.transparency.verify import VerificationFinding, trusted
from tests.audit.conftest import Attack, entries, note, verified
from tests.makers import NOW

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

# Rehashes every row of a chain, as anyone who has the database can; the head too.
REBUILD = """
do $$
declare
    event audit_auditevent;
    before text := repeat('0', 64);
begin
    for event in select * from audit_auditevent where tenant_id = {tenant} order by seq loop
        event.prev_hash := before;
        event.hash := encode(audit_digest(event), 'hex');
        update audit_auditevent set prev_hash = event.prev_hash, hash = event.hash where id = event.id;
        before := event.hash;
    end loop;
    update audit_chainhead set (seq, hash) = (last.seq, before)
      from (select max(seq) seq from audit_auditevent where tenant_id = {tenant}) last where chain = {tenant};
end $$
"""


@pytest.fixture
def chain(acme: OpenedTenant, globex: OpenedTenant) -> int:
    """The tenant whose chain is attacked; the other's stands beside it."""
    note(globex, "other")
    note(acme, *"abcdefgh")
    return acme.scope.tenant_id


@pytest.fixture
def signed(chain: int) -> Signed:
    """Made while all was well."""
    taken = checkpoints.take_checkpoint(now=NOW)
    assert taken is not None
    return taken


def check(**options: Any) -> Any:
    """What `memsync audit verify --json` says; it ends with 1 unless the trail is whole."""
    output = StringIO()
    code = 0
    try:
        call_command("audit", "verify", json=True, stdout=output, **options)
    except CommandError as error:
        code = error.returncode
    answer = json.loads(output.getvalue())
    assert code == (0 if answer["whole"] else 1)
    return answer


def found(answer: Any, chain: int | None) -> list[tuple[str, int]]:
    return [(one["kind"], one["seq"]) for one in answer["findings"] if one["chain"] == chain]


def kinds(findings: list[VerificationFinding], chain: int | None) -> list[tuple[str, int]]:
    return [(one.kind, one.seq) for one in findings if one.chain == chain]


def length(chain: int) -> int:
    return len(entries(chain))


def test_trail_that_nobody_touched_is_whole(chain: int, signed: Signed) -> None:
    answer = check()

    assert answer["findings"] == []
    assert answer["rows"] == len(entries())
    assert answer["confirmed"][str(chain)] == length(chain)


def test_trail_without_a_row_is_whole() -> None:
    assert check() == {"whole": True, "rows": 0, "chains": 0, "confirmed": {}, "findings": []}


CHANGES = {
    "id": "id + 1000000",
    "tenant_id": "424242",
    "seq": "seq + 1000",
    "created_at": "created_at + interval '1 microsecond'",
    "actor": "'mallory'",
    "action": "action || ' '",
    "target": "''",
    "outcome": "'denied'",
    "reason": "'other'",
    "request_id": "'r2'",
    "count": "count + 1",
    "network": "'198.51.100.0/24'",
    "code_version": "'9'",
    "prev_hash": "repeat('a', 64)",
    "hash": "repeat('a', 64)",
}


def test_every_column_is_tried() -> None:
    assert set(CHANGES) == set(NAMES)


@pytest.mark.parametrize("column", CHANGES)
def test_edit_of_any_column_is_found_and_the_row_named(chain: int, attack: Attack, column: str) -> None:
    victim = entries(chain)[4]

    attack(f"update audit_auditevent set {column} = {CHANGES[column]} where id = {victim.id}")

    findings = verified().findings
    expected = "gap" if column in ("tenant_id", "seq") else "edit"
    assert kinds(findings, chain) == [(expected, victim.seq)]


@pytest.mark.parametrize("column", ["prev_hash", "hash"])
def test_what_is_no_hash_at_all_is_an_edit(chain: int, attack: Attack, column: str) -> None:
    attack(f"update audit_auditevent set {column} = 'nonsense' where tenant_id = {chain} and seq = 5")

    assert kinds(verified().findings, chain) == [("edit", 5)]


def test_edited_row_with_its_hash_made_anew_does_not_fit_the_one_after_it(chain: int, attack: Attack) -> None:
    attack(f"update audit_auditevent set actor = 'mallory' where tenant_id = {chain} and seq = 5")
    attack(f"update audit_auditevent e set hash = encode(audit_digest(e), 'hex') where tenant_id = {chain} and seq = 5")

    assert kinds(verified().findings, chain) == [("edit", 5)]


def test_deleted_row_leaves_a_gap(chain: int, attack: Attack) -> None:
    attack(f"delete from audit_auditevent where tenant_id = {chain} and seq in (4, 5)")

    assert kinds(verified().findings, chain) == [("gap", 4)]


def test_deleted_beginning_is_a_gap(chain: int, attack: Attack) -> None:
    attack(f"delete from audit_auditevent where tenant_id = {chain} and seq <= 2")

    assert kinds(verified().findings, chain) == [("gap", 1)]


@pytest.mark.parametrize(
    "columns", ["seq", "seq, prev_hash, hash"], ids=["with their hashes", "leaving the hashes where they were"]
)
def test_swapped_rows_are_reordered(chain: int, attack: Attack, columns: str) -> None:
    attack(
        f"""
        create temp table was as select * from audit_auditevent where tenant_id = {chain} and seq in (4, 6);
        update audit_auditevent set seq = -seq where tenant_id = {chain} and seq in (4, 6);
        update audit_auditevent e set ({columns}) = (select {columns} from was where was.id <> e.id)
         where e.id in (select id from was)
    """.replace("set (seq) =", "set seq =")
    )

    assert kinds(verified().findings, chain) == [("reorder", 4)]


def test_renumbering_after_a_deletion_is_found(chain: int, attack: Attack) -> None:
    attack(f"delete from audit_auditevent where tenant_id = {chain} and seq = 4")
    for seq in range(5, length(chain) + 2):
        attack(f"update audit_auditevent set seq = {seq - 1} where tenant_id = {chain} and seq = {seq}")

    assert kinds(verified().findings, chain) == [("reorder", 4)]


def test_row_put_in_past_the_chaining_is_found(chain: int, attack: Attack) -> None:
    attack("insert into audit_auditevent (tenant_id, created_at, actor, action, target, outcome, reason, request_id, "
           f"count, network, code_version, prev_hash, hash) values ({chain}, now(), '', '', '', '', '', '', 1, '', '', "
           "'', '')")  # fmt: skip

    assert kinds(verified().findings, chain) == [("unchained", 0)]


def test_missing_end_is_behind_the_head_of_the_chain(chain: int, attack: Attack) -> None:
    attack(f"delete from audit_auditevent where tenant_id = {chain} and seq > 5")

    assert kinds(verified().findings, chain) == [("truncation", 6)]


def test_whole_chain_that_is_gone_is_missing(chain: int, attack: Attack) -> None:
    attack(f"delete from audit_auditevent where tenant_id = {chain}")

    assert kinds(verified().findings, chain) == [("truncation", 1)]


def test_head_set_back_or_taken_away_is_found(chain: int, attack: Attack) -> None:
    attack(f"update audit_chainhead set seq = 3 where chain = {chain}")
    set_back = verified()
    attack(f"delete from audit_chainhead where chain = {chain}")

    assert kinds(set_back.findings, chain) == [("head", length(chain))]
    assert kinds(verified().findings, chain) == [("head", length(chain))]


# -- what only a checkpoint can tell ---------------------------------------------------------------------------------

TRUNCATE = "delete from audit_auditevent where tenant_id = {tenant} and seq > 5;" + REBUILD
REWRITE = "update audit_auditevent set actor = 'mallory' where tenant_id = {tenant} and seq = 5;" + REBUILD
FORGET = "delete from audit_checkpointhead; delete from audit_checkpoint;"


def test_truncated_and_tidied_chain_is_shorter_than_a_checkpoint_says(
    chain: int, signed: Signed, attack: Attack
) -> None:
    attack(TRUNCATE.format(tenant=chain))

    assert verified().is_whole  # by itself the database cannot tell
    assert found(check(), chain) == [("truncation", 6)]


def test_rebuilt_chain_is_another_than_the_checkpoint_has_seen(chain: int, signed: Signed, attack: Attack) -> None:
    attack(REWRITE.format(tenant=chain))

    assert verified().is_whole
    assert found(check(), chain) == [("fork", length(chain))]


def test_fork_is_found_at_the_first_checkpoint_that_saw_another_row(
    acme: OpenedTenant, chain: int, signed: Signed, attack: Attack
) -> None:
    note(acme, "later")
    checkpoints.take_checkpoint(now=NOW + timedelta(hours=1))
    seen = length(chain) - 1

    attack(REWRITE.format(tenant=chain))

    assert found(check(), chain) == [("fork", seen)]


@pytest.mark.parametrize(("deed", "kind"), [(TRUNCATE, "truncation"), (REWRITE, "fork")])
def test_files_tell_where_the_stored_checkpoints_were_deleted_too(
    chain: int, signed: Signed, attack: Attack, shipped: Path, deed: str, kind: str
) -> None:
    attack(deed.format(tenant=chain) + ";" + FORGET)

    assert [one for one, _ in found(check(from_dir=shipped), chain)] == [kind]
    (file,) = shipped.iterdir()
    assert [one for one, _ in found(check(checkpoint=file), chain)] == [kind]


def test_one_old_file_speaks_for_chains_it_does_not_list(
    acme: OpenedTenant, globex: OpenedTenant, signed: Signed, attack: Attack, shipped: Path, tmp_path: Path
) -> None:
    note(globex, "later")
    checkpoints.take_checkpoint(now=NOW + timedelta(hours=1))
    second = tmp_path / "second"
    second.write_text([line for file in shipped.iterdir() for line in file.read_text().splitlines()][1])
    assert acme.scope.tenant_id not in {head.chain for head in next(checkpoints.read(second)).heads}

    attack(TRUNCATE.format(tenant=acme.scope.tenant_id))
    kept = check(checkpoint=second)
    attack("update audit_checkpointhead set seq = 1 where chain = " + str(acme.scope.tenant_id))
    tidied = check(checkpoint=second)

    assert found(kept, acme.scope.tenant_id) == [("truncation", 6)]
    assert {kind for kind, _ in found(tidied, None)} == {"checkpoint"}


def test_forged_checkpoint_is_not_believed(chain: int, signed: Signed, attack: Attack, shipped: Path) -> None:
    forged = replace(signed.statement, rows=signed.statement.rows - 3)
    own_key = signatures.sign(bytes(32), forged.signed).hex()

    attack(f"update audit_checkpoint set rows = {forged.rows}, signature = '{own_key}'")

    assert found(check(), None) == [("checkpoint", 1)]


@pytest.mark.parametrize("change", [
    "made_at = made_at - interval '1 day'", "chains = chains - 1", "rows = 0", "root = moved || ''", "number = 7",
    "previous = repeat('1', 64)", "key_version = 9", "deployment = 'elsewhere'",
    "signature = repeat('0', 128)", "signature = ''",
])  # fmt: skip
def test_stored_checkpoint_that_was_changed_is_not_believed(
    acme: OpenedTenant, signed: Signed, attack: Attack, change: str, shipped: Path
) -> None:
    note(acme, "later")  # so that root and moved differ
    checkpoints.take_checkpoint(now=NOW + timedelta(hours=1))
    for file in shipped.iterdir():
        file.unlink()

    attack(f"update audit_checkpoint set {change} where number = 2")

    answer = check()
    assert [kind for kind, _ in found(answer, None)] == ["checkpoint"]


def test_heads_beside_a_checkpoint_cannot_be_exchanged(chain: int, signed: Signed, attack: Attack) -> None:
    attack(f"update audit_checkpointhead set hash = repeat('0', 64) where chain = {chain}")

    assert ("checkpoint", 1) in found(check(), None)


def test_checkpoint_of_another_deployment_is_not_believed(signed: Signed, settings: Any) -> None:
    settings.DEPLOYMENT_ID = "elsewhere"

    good, findings = trusted([signed], deployment="elsewhere", is_signed=lambda _: True)

    assert good == []
    assert kinds(findings, None) == [("checkpoint", 1)]


def test_missing_checkpoint_between_two_is_noticed(
    acme: OpenedTenant, signed: Signed, attack: Attack, shipped: Path
) -> None:
    for hour in (1, 2):
        note(acme, "later")
        checkpoints.take_checkpoint(now=NOW + timedelta(hours=hour))
    for file in shipped.iterdir():
        file.unlink()

    attack("delete from audit_checkpointhead where checkpoint_id = 2; delete from audit_checkpoint where number = 2")

    assert found(check(), None) == [("checkpoint", 2)]


def test_two_checkpoints_with_one_number_are_noticed(signed: Signed) -> None:
    other = replace(signed, statement=replace(signed.statement, rows=1))

    _, findings = trusted([signed, other], deployment="memsync-tests", is_signed=lambda _: True)

    assert kinds(findings, None) == [("checkpoint", 1)]


# -- checkpoints -----------------------------------------------------------------------------------------------------


def test_checkpoint_is_taken_after_a_minute_or_a_thousand_rows(
    acme: OpenedTenant, signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = checkpoints.take_checkpoint(now=NOW + timedelta(hours=1))
    note(acme, "one")
    early = checkpoints.take_checkpoint(now=NOW + timedelta(seconds=59))
    monkeypatch.setattr(checkpoints, "AFTER_ROWS", 1)
    many = checkpoints.take_checkpoint(now=NOW + timedelta(seconds=59))
    monkeypatch.setattr(checkpoints, "AFTER_ROWS", 1_000)
    note(acme, "two")
    late = checkpoints.take_checkpoint(now=NOW + timedelta(minutes=3))

    assert (idle, early) == (None, None)
    assert many is not None
    assert late is not None
    assert [head.chain for head in late.heads] == [acme.scope.tenant_id]
    assert late.statement.previous == many.statement.hash


def test_file_gets_what_a_full_disk_kept_from_it(
    acme: OpenedTenant, signed: Signed, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    note(acme, "one")
    with monkeypatch.context() as full:
        full.setattr(checkpoints, "_append", refuse)
        checkpoints.take_checkpoint(now=NOW + timedelta(hours=1))
    note(acme, "two")
    checkpoints.take_checkpoint(now=NOW + timedelta(days=2))

    assert [one.statement.number for one in checkpoints.read(shipped)] == [1, 2, 3]
    assert list(checkpoints.read(shipped)) == list(checkpoints.stored())
    assert {file.stat().st_mode & 0o777 for file in shipped.iterdir()} == {0o600}


def test_checkpoint_holds_no_content_and_no_name(signed: Signed, shipped: Path) -> None:
    (file,) = shipped.iterdir()

    assert b"acme" not in file.read_bytes()
    assert b"test.note" not in file.read_bytes()
    assert Checkpoint.objects.count() == 1


# -- a tenant's own copy ---------------------------------------------------------------------------------------------


@pytest.fixture
def exported(acme: OpenedTenant, signed: Signed, tmp_path: Path) -> Path:
    output = StringIO()
    call_command("audit", "export", tenant="acme", stdout=output)
    file = tmp_path / "chain.jsonl"
    file.write_text(output.getvalue())
    return file


def test_export_is_checked_with_nothing_but_the_public_key(chain: int, exported: Path) -> None:
    answer = check(file=exported, key=checkpoints.public_key())

    assert (answer["rows"], answer["confirmed"]) == (length(chain), {str(chain): length(chain)})


def test_export_shows_nothing_of_another_tenant(globex: OpenedTenant, exported: Path) -> None:
    *rows, proof = [json.loads(line) for line in exported.read_text().splitlines()]

    assert globex.scope.tenant_id not in {row["tenant_id"] for row in rows}
    assert len(proof["checkpoint"]["heads"]) == 1
    assert entries(globex.scope.tenant_id)[-1].hash not in exported.read_text()


Lines = list[dict[str, Any]]


def _cut(lines: Lines) -> None:
    del lines[-2]


def _edit(lines: Lines) -> None:
    lines[3]["actor"] = "mallory"


def _swap(lines: Lines) -> None:
    lines[3], lines[4] = lines[4], lines[3]


def _drop(lines: Lines) -> None:
    del lines[3]


def _no_proof(lines: Lines) -> None:
    lines.pop()


def _other_head(lines: Lines) -> None:
    lines[-1]["checkpoint"]["heads"][0][1] -= 1


def _other_path(lines: Lines) -> None:
    lines[-1]["checkpoint"]["path"][0] = "00" * 32


def _other_statement(lines: Lines) -> None:
    lines[-1]["checkpoint"]["statement"]["rows"] += 1


@pytest.mark.parametrize(
    ("forge", "kind"),
    [(_cut, "truncation"), (_edit, "edit"), (_swap, "gap"), (_drop, "gap"), (_no_proof, "checkpoint"),
     (_other_head, "checkpoint"), (_other_path, "checkpoint"), (_other_statement, "checkpoint")],
)  # fmt: skip
def test_forged_export_is_found_out(exported: Path, forge: Callable[[Lines], None], kind: str) -> None:
    lines = [json.loads(line) for line in exported.read_text().splitlines()]
    forge(lines)
    exported.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert check(file=exported, key=checkpoints.public_key())["findings"][0]["kind"] == kind


def test_export_signed_by_another_key_is_found_out(exported: Path) -> None:
    answer = check(file=exported, key=signatures.public_of(bytes(32)))

    assert answer["findings"][0]["kind"] == "checkpoint"


@pytest.mark.parametrize("text", ["{", "[]", '{"id": 1}', '{"checkpoint": {}}', "\x00"])
def test_what_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd"
    file.write_text(text)

    with pytest.raises(CommandError, match="not an export"):
        call_command("audit", "verify", file=file, key=bytes(32))
