-- Insert webhook events in the transaction of the change that they report, where an endpoint subscribes to them or the
-- tenant has listeners.
--
-- webhooks_note_memories: after rows of the memories' history, an event for each, and one for a batch that was created
-- or for the summary of a session.  Branches, which are temporary copies, have none.
-- webhooks_note_deeds: after rows of the audit trail about keys, members, limits and erasures.
--
-- No way to change a memory can forget its event, and an event without subscriber or listener costs no statement. Events
-- contain ids and states. Both functions name the tenant themselves: the second runs as the owner, to whom row-level
-- security does not apply.

create or replace function webhooks_note_memories() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (
        select from noted n
          join public.webhooks_webhookendpoint w on w.tenant_id = n.tenant_id and w.is_enabled
    ) and not exists (
        select from noted n
          join public.webhooks_eventlog l on l.tenant_id = n.tenant_id and l.is_recording
    ) then
        return null;
    end if;
    with happened as (
        select n.id, n.tenant_id, n.space_id, n.txid, n.memory_id, n.event, n.actor, n.other_id, n.changed_fields,
               n.created_at, s.environment, m.project_id, m.type as memory_type,
               case when s.kind = 'end_user' then s.owner_id end as user_id,
               coalesce(n.event = 'created' and m.is_summary and m.source = 'session', false) as is_of_session,
               case n.event when 'created' then 'memory.created' when 'superseded' then 'memory.superseded'
                            when 'soft_deleted' then 'memory.deleted' when 'purged' then 'memory.deleted'
                            else 'memory.updated' end as type
          from noted n
          join public.projects_space s on s.tenant_id = n.tenant_id and s.id = n.space_id and s.branch = ''
          left join public.memories_memory m on m.tenant_id = n.tenant_id and m.id = n.memory_id
    ), every as (
        select id as nth, tenant_id, space_id, type, environment, project_id, array[memory_id] as memory_ids,
               created_at,
               jsonb_strip_nulls(jsonb_build_object(
                   'memory_id', memory_id, 'user_id', user_id, 'memory_type', memory_type, 'change', event,
                   'changed_fields', case when changed_fields <> '{}' then to_jsonb(changed_fields) end,
                   'superseded_by', case when event = 'superseded' then other_id end,
                   'supersedes', case when event = 'created' then other_id end,
                   'restorable', case when type = 'memory.deleted' then event = 'soft_deleted' end,
                   'actor', actor)) as data
          from happened
        union all
        select id, tenant_id, space_id, 'session.consolidated', environment, project_id, array[memory_id], created_at,
               jsonb_strip_nulls(jsonb_build_object(
                   'memory_id', memory_id, 'supersedes', other_id, 'actor', actor, 'user_id', user_id))
          from happened where is_of_session
        union all
        select max(id), tenant_id, space_id, 'memory.batch_created', environment, project_id,
               array_agg(memory_id order by memory_id), created_at,
               jsonb_strip_nulls(jsonb_build_object(
                   'memory_ids', jsonb_agg(memory_id order by memory_id), 'user_id', user_id, 'count', count(*),
                   'actor', actor))
          from happened where event = 'created'
         group by tenant_id, space_id, txid, environment, project_id, user_id, actor, created_at having count(*) > 1
    ), made as (
        insert into public.webhooks_webhookevent
               (tenant_id, space_id, type, environment, project_id, memory_ids, data, created_at)
        select tenant_id, space_id, type, environment, project_id, memory_ids, data, created_at from every e
         where exists (select from public.webhooks_eventlog l where l.tenant_id = e.tenant_id and l.is_recording)
            or exists (
             select from public.webhooks_webhookendpoint w
              where w.tenant_id = e.tenant_id and w.is_enabled and w.environment = e.environment
                and e.type = any(w.events))
         order by nth
        returning id, tenant_id, type, environment, created_at
    )
    insert into public.outbox_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error)
    select tenant_id, 'webhook.event', id, created_at, created_at, 0, '' from made e
     where exists (
         select from public.webhooks_webhookendpoint w
          where w.tenant_id = e.tenant_id and w.is_enabled and w.environment = e.environment and e.type = any(w.events))
     order by id;
    return null;
end $$;

create or replace trigger webhooks after insert on memories_memorytransition referencing new table as noted
    for each statement execute function webhooks_note_memories();

create or replace function webhooks_note_deeds() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    named constant bigint := nullif(substring(new.target from ':(\d+)$'), '')::bigint;
    follows constant bigint := substring(new.reason from 'api_key:(\d+)$')::bigint;
begin
    with every (type, data) as (
        select 'api_key.created', jsonb_build_object('api_key_id', named) where new.action = 'api_key.issue'
        union all
        select 'api_key.created', jsonb_build_object('api_key_id', follows, 'replaces', named)
         where new.action = 'api_key.rotate'
        union all
        select 'api_key.revoked', jsonb_build_object('api_key_id', named)
         where new.action = 'api_key.revoke'
            or new.action = 'api_key.rotate' and exists (
                   select from public.apikeys_apikey k
                    where k.tenant_id = new.tenant_id and k.id = named and k.revoked_at is not null)
        union all
        select 'team.member_added', jsonb_build_object('account_id', named, 'role', split_part(new.reason, '=', 2))
         where new.action = 'member.add'
        union all
        select 'team.member_removed', jsonb_build_object('account_id', named) where new.action = 'member.remove'
        union all
        select 'billing.usage_threshold',
               jsonb_build_object('meter', split_part(new.target, ':', 2), 'percent', new.count)
         where new.action = 'quota.threshold'
        union all
        select 'api.rate_limited', jsonb_build_object('api_key_id', named) where new.action = 'api_key.limited'
        union all
        select 'memory.deleted',
               jsonb_build_object('erasure_id', new.target, 'erased', new.reason, 'count', new.count,
                                  'restorable', false)
         where new.action = 'erasure.delete' and new.reason in ('space', 'end_user')
    ), made as (
        insert into public.webhooks_webhookevent
               (tenant_id, space_id, type, environment, project_id, memory_ids, data, created_at)
        select new.tenant_id, null, e.type, '', null, '{}', e.data || jsonb_build_object('actor', new.actor),
               new.created_at
          from every e
         where exists (select from public.webhooks_eventlog l where l.tenant_id = new.tenant_id and l.is_recording)
            or exists (
             select from public.webhooks_webhookendpoint w
              where w.tenant_id = new.tenant_id and w.is_enabled and e.type = any(w.events))
        returning id, type
    )
    insert into public.outbox_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error)
    select new.tenant_id, 'webhook.event', id, new.created_at, new.created_at, 0, '' from made e
     where exists (
         select from public.webhooks_webhookendpoint w
          where w.tenant_id = new.tenant_id and w.is_enabled and e.type = any(w.events))
     order by id;
    return null;
end $$;

create or replace trigger webhooks after insert on audit_auditevent for each row
    when (new.tenant_id is not null and new.action = any (array[
        'api_key.issue', 'api_key.rotate', 'api_key.revoke', 'api_key.limited', 'member.add', 'member.remove',
        'quota.threshold', 'erasure.delete']))
    execute function webhooks_note_deeds();

-- Reverse
drop trigger if exists webhooks on audit_auditevent;
drop function if exists webhooks_note_deeds();
drop trigger if exists webhooks on memories_memorytransition;
drop function if exists webhooks_note_memories();
