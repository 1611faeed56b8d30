-- Insert a webhook event for the summary of a session, in the transaction that writes it, where an endpoint subscribes.
--
-- webhooks_note_sessions: after rows of the memories' history, as webhooks_note_memories.

create function webhooks_note_sessions() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    with made as (
        insert into public.webhooks_webhookevent
               (tenant_id, space_id, type, environment, project_id, memory_ids, data, created_at)
        select n.tenant_id, n.space_id, 'session.consolidated', s.environment, m.project_id, array[n.memory_id],
               jsonb_strip_nulls(jsonb_build_object(
                   'memory_id', n.memory_id, 'supersedes', n.other_id, 'actor', n.actor,
                   'user_id', case when s.kind = 'end_user' then s.owner_id end)),
               n.created_at
          from noted n
          join public.memories_memory m on m.tenant_id = n.tenant_id and m.id = n.memory_id
               and m.is_summary and m.source = 'session'
          join public.projects_space s on s.tenant_id = n.tenant_id and s.id = n.space_id
         where n.event = 'created' and exists (
             select from public.webhooks_webhookendpoint w
              where w.tenant_id = n.tenant_id and w.is_enabled and w.environment = s.environment
                and 'session.consolidated' = any(w.events))
        returning id, tenant_id, created_at
    )
    insert into public.outbox_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error)
    select tenant_id, 'webhook.event', id, created_at, created_at, 0, '' from made order by id;
    return null;
end $$;

create trigger webhooks_sessions after insert on memories_memorytransition referencing new table as noted
    for each statement execute function webhooks_note_sessions();

-- Reverse
drop trigger webhooks_sessions on memories_memorytransition;
drop function webhooks_note_sessions();
