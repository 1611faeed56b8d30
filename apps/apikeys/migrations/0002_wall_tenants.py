"""Row-level security for API keys, which must also be found before their tenant is known.

A transaction that names a key id may read that one row: it had to hold the key to name it.
"""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("apikeys", "0001_initial"), ("projects", "0002_wall_tenants")]

    operations: ClassVar = [
        migrations.RunSQL(
            *isolation_sql("apikeys_apikey", also="kid = nullif(current_setting('app.api_key_kid', true), '')")
        ),
        migrations.RunSQL(*composite_key_sql("apikeys_apikey", "project_id", "projects_project")),
        migrations.RunSQL(
            *("alter table apikeys_ratewindow set unlogged;", "alter table apikeys_ratewindow set logged;")
        ),
    ]
