"""An entry of the erasure ledger is neither changed nor deleted: what it names would come back with a restore."""

from typing import ClassVar

from django.db import migrations

FORWARD = """
create function retention_guard_ledger() returns trigger language plpgsql as $$
begin
    raise exception 'the erasure ledger is append only' using errcode = 'check_violation';
end $$;
create trigger guard before update or delete on retention_erasureentry
    for each row execute function retention_guard_ledger();
"""
BACKWARD = """
drop trigger guard on retention_erasureentry;
drop function retention_guard_ledger();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("retention", "0001_initial")]

    operations: ClassVar = [migrations.RunSQL(FORWARD, BACKWARD, hints={"database": "keyring"})]
