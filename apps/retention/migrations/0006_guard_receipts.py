"""The log of receipts only grows; an erasure only goes on, and stays what it is."""

from typing import ClassVar

from django.db import migrations

FORWARD = """
create function retention_guard_receipts() returns trigger language plpgsql as $$
begin
    raise exception 'the log of receipts is append only' using errcode = 'check_violation';
end $$;
create trigger guard before update or delete on retention_receipt
    for each row execute function retention_guard_receipts();
create trigger guard before update or delete on retention_receiptcheckpoint
    for each row execute function retention_guard_receipts();
create function retention_guard_erasure() returns trigger language plpgsql as $$
declare
    may_change constant text[] := array['state', 'counts', 'deleted_at', 'purged_at', 'finished_at'];
begin
    if tg_op = 'DELETE' then
        raise exception 'an erasure is evidence' using errcode = 'check_violation';
    end if;
    if new.state <> old.state and (old.state, new.state) not in
            (('requested', 'deleted'), ('deleted', 'purged'), ('purged', 'finished')) then
        raise exception 'a % erasure cannot become %', old.state, new.state using errcode = 'check_violation';
    end if;
    if to_jsonb(old) - may_change is distinct from to_jsonb(new) - may_change then
        raise exception 'what an erasure is of does not change' using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger guard before update or delete on retention_erasure
    for each row execute function retention_guard_erasure();
"""
BACKWARD = """
drop trigger guard on retention_erasure;
drop function retention_guard_erasure();
drop trigger guard on retention_receiptcheckpoint;
drop trigger guard on retention_receipt;
drop function retention_guard_receipts();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("retention", "0005_keep_receipts")]

    operations: ClassVar = [migrations.RunSQL(FORWARD, BACKWARD, hints={"database": "keyring"})]
