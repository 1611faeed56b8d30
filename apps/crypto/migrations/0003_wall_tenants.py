"""Row-level security for the key state; the active version is among the live ones; the epoch only rises."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import isolation_sql

FORWARD = """
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
"""
BACKWARD = """
drop trigger guard on crypto_tenantkeystate;
drop function crypto_guard_epoch();
alter table crypto_tenantkeystate drop constraint tenant_key_state_active_is_live;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("crypto", "0002_guard_keys")]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("crypto_tenantkeystate")),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
