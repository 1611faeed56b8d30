"""A sealed row is written under the active version of its tenant's key, or not at all.

The writer's lock on the key state says the same in Python; this holds for whoever forgets it, because it takes the lock
itself.  An update that leaves the version alone is not looked at: counts and states of rows under an earlier version
may change.
"""

from typing import ClassVar

from django.db import migrations

# Every table with a key version.  A test holds this list against the catalogue.
SEALED = ("memories_memory", "memories_memoryvector", "tenants_enduser", "ingest_ingestreceipt")

FUNCTION = """
create function upkeep_guard_key_version() returns trigger language plpgsql as $$
declare
    active integer;
begin
    select active_version into active from crypto_tenantkeystate where tenant_id = new.tenant_id for share;
    if new.key_version is distinct from active then
        raise exception 'a row of % came under key version %, and % is active', tg_table_name, new.key_version, active
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
"""


def _guard(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"create trigger guard_key_version before insert or update of key_version on {table} "
        "for each row execute function upkeep_guard_key_version();",
        f"drop trigger guard_key_version on {table};",
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("upkeep", "0001_initial"),
        ("crypto", "0003_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
        ("memories", "0002_wall_tenants"),
        ("ingest", "0002_wall_tenants"),
    ]

    operations: ClassVar = [
        migrations.RunSQL(FUNCTION, "drop function upkeep_guard_key_version();"),
        *(_guard(table) for table in SEALED),
    ]
