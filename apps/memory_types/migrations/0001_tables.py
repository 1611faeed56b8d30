"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("memories", "0001_tables"), ("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="TypeChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("tenant_id", models.BigIntegerField()),
                ("actor", models.CharField(max_length=64)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("add", "A type was added"),
                            ("split", "A part of other types became a type's"),
                            ("sunset", "A type was given up for another"),
                        ],
                        max_length=8,
                    ),
                ),
                ("type", models.CharField(max_length=32)),
                (
                    "sources",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None),
                ),
                ("defines", models.BooleanField(default=False, help_text="The type is new with it.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Memories are being looked at"),
                            ("done", "Every memory was looked at"),
                            ("undoing", "Memories are given their former types"),
                            ("undone", "Memories have their former types"),
                        ],
                        default="running",
                        max_length=8,
                    ),
                ),
                ("at_space", models.BigIntegerField(default=0)),
                ("at_memory", models.BigIntegerField(null=True)),
                ("looks_again_at", models.DateTimeField(null=True)),
                ("rows_total", models.BigIntegerField(default=0)),
                ("rows_seen", models.BigIntegerField(default=0)),
                ("rows_changed", models.BigIntegerField(default=0)),
                ("rows_taken", models.BigIntegerField(default=0)),
                ("rows_broken", models.BigIntegerField(default=0)),
                ("rows_restored", models.BigIntegerField(default=0)),
                ("rows_kept", models.BigIntegerField(default=0)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant_id", "-id"], name="type_change_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("running", "undoing"))),
                        fields=("tenant_id",),
                        name="type_change_one_at_work",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["running", "done", "undoing", "undone"])),
                        name="type_change_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["add", "split", "sunset"])), name="type_change_kind"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TypeChangeRow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("change_id", models.BigIntegerField()),
                ("was_type", models.CharField(max_length=32)),
                ("was_prior", models.FloatField()),
                ("was_confidence", models.FloatField()),
                ("had_slot", models.BooleanField()),
                ("txid", models.BigIntegerField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("changed", "Changed"),
                            ("taken", "Taken"),
                            ("broken", "Broken"),
                            ("restored", "Restored"),
                            ("kept", "Kept"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="projects.space",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "changed")),
                        fields=["tenant", "change_id", "space", "id"],
                        name="type_change_rows_to_undo",
                    ),
                    models.Index(fields=["tenant", "memory"], name="type_changes_of_memory"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "change_id", "memory"), name="type_change_row_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["changed", "taken", "broken", "restored", "kept"])),
                        name="type_change_row_state",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
