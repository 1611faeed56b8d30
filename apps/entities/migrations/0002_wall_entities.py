"""Row-level security for entities; everything of one entity in its own tenant and space; nothing of one without a
memory that speaks of it."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql

ENTITY, ALIAS, MENTION, CLAIM = (
    "entities_entity",
    "entities_entityalias",
    "entities_entitymention",
    "entities_entityclaim",
)

# A name goes with the last memory that says it, and an entity with the last that is about it: whatever door a memory
# leaves by, and however many at once.  Where all of a space goes, each table is emptied, and counted, by itself.
SWEEP = """
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
"""
UNSWEEP = """
drop trigger sweep_mentions on entities_entitymention;
drop trigger sweep_claims on entities_entityclaim;
drop function entities_sweep_mentions();
drop function entities_sweep_claims();
"""


def in_space_sql(table: str, column: str, parent: str) -> tuple[str, str]:
    """SQL, and its reverse, for the key that holds what a row refers to in the row's own space."""
    name = f"{table}_{column}_in_space"
    return (
        f"alter table {table} add constraint {name} foreign key (tenant_id, space_id, {column}) "
        f"references {parent} (tenant_id, space_id, id) on delete cascade deferrable initially deferred;",
        f"alter table {table} drop constraint {name};",
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("entities", "0001_initial"), ("edges", "0002_wall_edges")]

    operations: ClassVar = [
        *(migrations.RunSQL(*isolation_sql(table)) for table in (ENTITY, ALIAS, MENTION, CLAIM)),
        *(migrations.RunSQL(*guard_sql(table)) for table in (ALIAS, CLAIM)),
        *(
            migrations.RunSQL(*composite_key_sql(table, "space_id", "projects_space"))
            for table in (ENTITY, ALIAS, MENTION, CLAIM)
        ),
        migrations.RunSQL(*in_space_sql(ENTITY, "merged_into_id", ENTITY)),
        migrations.RunSQL(*in_space_sql(ALIAS, "entity_id", ENTITY)),
        migrations.RunSQL(*composite_key_sql(ALIAS, "parent_id", ALIAS)),
        migrations.RunSQL(*in_space_sql(MENTION, "entity_id", ENTITY)),
        migrations.RunSQL(*in_space_sql(MENTION, "memory_id", "memories_memory")),
        migrations.RunSQL(*composite_key_sql(MENTION, "alias_id", ALIAS, on_delete="set null")),
        migrations.RunSQL(*in_space_sql(CLAIM, "memory_id", "memories_memory")),
        migrations.RunSQL(*in_space_sql(CLAIM, "subject_id", ENTITY)),
        migrations.RunSQL(*in_space_sql(CLAIM, "object_id", ENTITY)),
        migrations.RunSQL(SWEEP, UNSWEEP),
    ]
