"""A sealed row is written under the active version of its tenant's key, or not at all.

The writer's lock on the key state says the same in Python; this holds for whoever forgets it, because it takes the lock
itself.  An update that leaves the version alone is not looked at: counts and states of rows under an earlier version
may change.  Tables come under it one by one, by ``guard_sql``.
"""

from typing import ClassVar

from django.db import migrations

from apps.crypto.encrypted_tables import guard_sql

FUNCTION = """
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
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("crypto", "0003_wall_tenants"), ("tenants", "0002_wall_tenants")]

    operations: ClassVar = [
        migrations.RunSQL(FUNCTION, "drop function crypto_guard_key_version();"),
        migrations.RunSQL(*guard_sql("tenants_enduser")),
    ]
