-- Encrypted rows are written under the active version of their tenant's key, and every change of versions raises the epoch.
--
-- crypto_guard_epoch: a change of a tenant's key versions must raise the epoch by which processes notice it.
-- crypto_guard_key_version: a row is written under the active version. The writer locks the key state in Python; this
--     trigger takes the lock itself, for code that forgets it. An update that leaves key_version alone is not checked:
--     counts and states of rows under an earlier version may change. Operation RequireActiveKeyVersion adds it to a table.

alter table crypto_tenantkeystate add constraint tenant_key_state_active_is_live
    check (active_version = any (live_versions));
create function crypto_guard_epoch() returns trigger language plpgsql as $$
begin
    if new.key_epoch < old.key_epoch or (new.key_epoch = old.key_epoch and
            (new.active_version, new.live_versions) is distinct from (old.active_version, old.live_versions)) then
        raise exception 'a change of key versions raises the epoch, or processes would keep the old keys'
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger guard before update on crypto_tenantkeystate for each row execute function crypto_guard_epoch();

create function crypto_guard_key_version() returns trigger language plpgsql as $$
declare
    active integer;
begin
    if new.key_version is null then  -- nothing in the row is sealed
        return new;
    end if;
    select active_version into active from crypto_tenantkeystate where tenant_id = new.tenant_id for share;
    if new.key_version is distinct from active then
        raise exception 'a row of % came under key version %, and % is active', tg_table_name, new.key_version, active
            using errcode = 'check_violation';
    end if;
    return new;
end $$;

-- Reverse
drop function crypto_guard_key_version();
drop trigger guard on crypto_tenantkeystate;
drop function crypto_guard_epoch();
alter table crypto_tenantkeystate drop constraint tenant_key_state_active_is_live;
