-- Erasure ledger and receipts are append-only; the state of an erasure only goes forward.
--
-- An entry of the ledger that was changed or deleted would let a restore bring back what it names.

create function erasure_guard_ledger() returns trigger language plpgsql as $$
begin
    raise exception 'the erasure ledger is append only' using errcode = 'check_violation';
end $$;
create trigger guard before update or delete on erasure_erasureentry
    for each row execute function erasure_guard_ledger();

create function erasure_guard_receipts() returns trigger language plpgsql as $$
begin
    raise exception 'the log of receipts is append only' using errcode = 'check_violation';
end $$;
create trigger guard before update or delete on erasure_receipt
    for each row execute function erasure_guard_receipts();
create trigger guard before update or delete on erasure_receiptcheckpoint
    for each row execute function erasure_guard_receipts();
create function erasure_guard_erasure() returns trigger language plpgsql as $$
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
create trigger guard before update or delete on erasure_erasure
    for each row execute function erasure_guard_erasure();

-- Reverse
drop trigger guard on erasure_erasure;
drop function erasure_guard_erasure();
drop trigger guard on erasure_receiptcheckpoint;
drop trigger guard on erasure_receipt;
drop function erasure_guard_receipts();
drop trigger guard on erasure_erasureentry;
drop function erasure_guard_ledger();
