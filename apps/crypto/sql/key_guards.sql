-- Let the state of a key only go forward, and never change what identifies a key; never delete its row.
-- Whatever code writes a row of the keyring, these hold; jsonb makes "all columns but these" one expression.

create function crypto_guard_key() returns trigger language plpgsql as $$
declare
    may_change constant text[] := array['state', 'wrapped', 'kek_provider', 'kek_ref', 'kek_version', 'activated_at',
                                        'read_only_until', 'retired_at', 'destroyed_at', 'reason', 'seals'];
begin
    if tg_op = 'DELETE' then
        raise exception 'the row of a key is evidence: destroy the key, keep the row' using errcode = 'check_violation';
    end if;
    if tg_op = 'INSERT' then
        if new.state not in ('pending', 'active') then
            raise exception 'a key begins pending or active, not %', new.state using errcode = 'check_violation';
        end if;
        return new;
    end if;
    if old.state = 'destroyed' then
        raise exception 'a destroyed key does not change' using errcode = 'check_violation';
    end if;
    if new.state <> old.state and new.state <> 'destroyed' and (old.state, new.state) not in
            (('pending', 'active'), ('active', 'read_only'), ('read_only', 'retired')) then
        raise exception 'a % key cannot become %', old.state, new.state using errcode = 'check_violation';
    end if;
    if to_jsonb(old) - may_change is distinct from to_jsonb(new) - may_change then
        raise exception 'what identifies a key does not change' using errcode = 'check_violation';
    end if;
    return new;
end $$;
create function crypto_guard_salt() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        raise exception 'the row of a salt is evidence: destroy the salt, keep the row'
            using errcode = 'check_violation';
    end if;
    if old.salt is null or new.salt is not null
            or (old.space_uid, old.tenant_uid) is distinct from (new.space_uid, new.tenant_uid) then
        raise exception 'a salt can only be destroyed' using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger guard before insert or update or delete on crypto_tenantkey
    for each row execute function crypto_guard_key();
create trigger guard before insert or update or delete on crypto_servicekey
    for each row execute function crypto_guard_key();
create trigger guard before update or delete on crypto_spacesecret
    for each row execute function crypto_guard_salt();

-- Reverse
drop trigger guard on crypto_spacesecret;
drop trigger guard on crypto_servicekey;
drop trigger guard on crypto_tenantkey;
drop function crypto_guard_salt();
drop function crypto_guard_key();
