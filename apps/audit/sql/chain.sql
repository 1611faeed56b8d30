-- Insert and hash-chain the rows of the audit trail, and refuse every other change of them.
--
-- audit_record: the only way to insert; the application may run it and may not write the table.
-- audit_chain: at commit, numbers and chains the rows that the transaction inserted; the bytes are those of
--     apps/audit/chain.py.
-- audit_guard: refuses any other change of a row, by the owner of the table too.

-- A field of the bytes that are hashed: its length in four bytes and itself; ff ff ff ff for none.
create function audit_field(value bytea) returns bytea language sql immutable parallel safe as $$
    select coalesce(int4send(length(value)) || value, '\xffffffff'::bytea)
$$;

create function audit_digest(event audit_auditevent) returns bytea language sql stable parallel safe
set search_path = pg_catalog, pg_temp as $$
    select sha256(
        '\x00'::bytea
        || public.audit_field(convert_to('memsync audit 1', 'UTF8'))
        || public.audit_field(int8send(event.id))
        || public.audit_field(int8send(event.tenant_id))
        || public.audit_field(int8send(event.seq))
        || public.audit_field(int8send((extract(epoch from event.created_at) * 1000000)::bigint))
        || public.audit_field(convert_to(event.actor, 'UTF8'))
        || public.audit_field(convert_to(event.action, 'UTF8'))
        || public.audit_field(convert_to(event.target, 'UTF8'))
        || public.audit_field(convert_to(event.outcome, 'UTF8'))
        || public.audit_field(convert_to(event.reason, 'UTF8'))
        || public.audit_field(convert_to(event.request_id, 'UTF8'))
        || public.audit_field(int8send(event.count))
        || public.audit_field(convert_to(event.network, 'UTF8'))
        || public.audit_field(convert_to(event.code_version, 'UTF8'))
        || decode(event.prev_hash, 'hex'))
$$;

create function audit_record(
    tenant bigint, at timestamptz, actor text, action text, target text, outcome text, reason text, request_id text,
    count integer, network text, code_version text
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- The owner, as whom this runs, is not held by row-level security: so that its rule holds here too.
    if tenant is distinct from nullif(current_setting('app.tenant_id', true), '')::bigint then
        raise exception 'new row violates row-level security: it is of another tenant than the transaction'
            using errcode = 'insufficient_privilege';
    end if;
    insert into public.audit_auditevent (tenant_id, created_at, actor, action, target, outcome, reason, request_id,
                                         count, network, code_version, prev_hash, hash)
    values (tenant, at, actor, action, target, outcome, reason, request_id, count, network, code_version, '', '');
end $$;

create function audit_extend(extended bigint) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
    head public.audit_chainhead;
    event public.audit_auditevent;
begin
    select * into head from public.audit_chainhead where chain = extended for update;
    if not found then
        insert into public.audit_chainhead (chain, seq, hash) values (extended, 0, repeat('0', 64))
            on conflict do nothing;
        select * into strict head from public.audit_chainhead where chain = extended for update;
    end if;
    for event in
        select * from public.audit_auditevent
         where seq is null and tenant_id is not distinct from nullif(extended, 0) order by id
    loop
        event.seq := head.seq + 1;
        event.prev_hash := head.hash;
        event.hash := encode(public.audit_digest(event), 'hex');
        update public.audit_auditevent set seq = event.seq, prev_hash = event.prev_hash, hash = event.hash
         where id = event.id;
        head.seq := event.seq;
        head.hash := event.hash;
    end loop;
    update public.audit_chainhead set seq = head.seq, hash = head.hash where chain = extended;
end $$;

create function audit_chain() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
    asking constant text := coalesce(current_setting('app.tenant_id', true), '');
    extended bigint;
begin
    -- For an owner that row-level security does hold.
    perform set_config('app.tenant_id', coalesce(new.tenant_id::text, ''), true);
    -- What is not chained yet can only be of this transaction: the first of its rows takes all others along, and the
    -- heads are locked in one order, so that two transactions over the same chains never wait for each other.
    if exists (select from public.audit_auditevent where id = new.id and seq is null) then
        for extended in
            select coalesce(tenant_id, 0) from public.audit_auditevent where seq is null
            union select coalesce(new.tenant_id, 0) order by 1
        loop
            perform set_config('app.tenant_id', coalesce(nullif(extended, 0)::text, ''), true);
            perform public.audit_extend(extended);
        end loop;
    end if;
    perform set_config('app.tenant_id', asking, true);
    return null;
end $$;

create function audit_guard() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        if new.seq is null then
            return new;
        end if;
    elsif tg_op = 'UPDATE' and tg_table_name = 'audit_auditevent' then
        if old.seq is null and new.seq is not null
                and (old.id, old.tenant_id, old.created_at, old.actor, old.action, old.target, old.outcome, old.reason,
                     old.request_id, old.count, old.network, old.code_version)
                    is not distinct from
                    (new.id, new.tenant_id, new.created_at, new.actor, new.action, new.target, new.outcome, new.reason,
                     new.request_id, new.count, new.network, new.code_version) then
            return new;
        end if;
    elsif tg_op = 'UPDATE' and tg_table_name = 'audit_chainhead' then
        if new.chain = old.chain and new.seq >= old.seq then
            return new;
        end if;
    end if;
    raise exception 'the audit trail is only ever added to' using errcode = 'insufficient_privilege';
end $$;

revoke all on function audit_record, audit_extend, audit_chain, audit_guard from public;

create constraint trigger chain after insert on audit_auditevent deferrable initially deferred
    for each row execute function audit_chain();
create trigger guard before insert or update or delete on audit_auditevent
    for each row execute function audit_guard();
create trigger guard before update or delete on audit_chainhead for each row execute function audit_guard();
create trigger guard before update or delete on audit_checkpoint for each row execute function audit_guard();
create trigger guard before update or delete on audit_checkpointhead for each row execute function audit_guard();
create trigger keep before truncate on audit_auditevent for each statement execute function audit_guard();
create trigger keep before truncate on audit_chainhead for each statement execute function audit_guard();
create trigger keep before truncate on audit_checkpoint for each statement execute function audit_guard();
create trigger keep before truncate on audit_checkpointhead for each statement execute function audit_guard();

-- Reverse
drop trigger keep on audit_checkpointhead;
drop trigger keep on audit_checkpoint;
drop trigger keep on audit_chainhead;
drop trigger keep on audit_auditevent;
drop trigger guard on audit_checkpointhead;
drop trigger guard on audit_checkpoint;
drop trigger guard on audit_chainhead;
drop trigger guard on audit_auditevent;
drop trigger chain on audit_auditevent;
drop function audit_guard, audit_chain, audit_extend, audit_record, audit_digest, audit_field;
