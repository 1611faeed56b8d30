-- Delete aliases, claims and entities that no memory mentions any more.

create function entities_sweep_mentions() returns trigger language plpgsql as $$
begin
    if current_setting('app.deletes_all', true) = 'on' then
        return null;
    end if;
    delete from entities_entityalias a using (select distinct tenant_id, alias_id from gone) g
     where a.tenant_id = g.tenant_id and a.id = g.alias_id
       and not exists (select 1 from entities_entitymention m where m.tenant_id = a.tenant_id and m.alias_id = a.id);
    delete from entities_entity e using (select distinct tenant_id, entity_id from gone) g
     where e.tenant_id = g.tenant_id and e.id = g.entity_id
       and not exists (select 1 from entities_entitymention m
                        where m.tenant_id = e.tenant_id and m.space_id = e.space_id and m.entity_id = e.id)
       and not exists (select 1 from entities_entityclaim c
                        where c.tenant_id = e.tenant_id and c.space_id = e.space_id and c.subject_id = e.id)
       and not exists (select 1 from entities_entityclaim c
                        where c.tenant_id = e.tenant_id and c.space_id = e.space_id and c.object_id = e.id);
    return null;
end $$;
create function entities_sweep_claims() returns trigger language plpgsql as $$
begin
    if current_setting('app.deletes_all', true) = 'on' then
        return null;
    end if;
    delete from entities_entity e
     using (select tenant_id, subject_id as entity_id from gone union select tenant_id, object_id from gone) g
     where e.tenant_id = g.tenant_id and e.id = g.entity_id
       and not exists (select 1 from entities_entitymention m
                        where m.tenant_id = e.tenant_id and m.space_id = e.space_id and m.entity_id = e.id)
       and not exists (select 1 from entities_entityclaim c
                        where c.tenant_id = e.tenant_id and c.space_id = e.space_id and c.subject_id = e.id)
       and not exists (select 1 from entities_entityclaim c
                        where c.tenant_id = e.tenant_id and c.space_id = e.space_id and c.object_id = e.id);
    return null;
end $$;
create trigger sweep_mentions after delete on entities_entitymention referencing old table as gone
    for each statement execute function entities_sweep_mentions();
create trigger sweep_claims after delete on entities_entityclaim referencing old table as gone
    for each statement execute function entities_sweep_claims();

-- Reverse
drop trigger sweep_mentions on entities_entitymention;
drop trigger sweep_claims on entities_entityclaim;
drop function entities_sweep_mentions();
drop function entities_sweep_claims();
