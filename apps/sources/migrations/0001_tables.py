"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memories", "0007_type_fields"),
        ("projects", "0002_isolation"),
        ("tenants", "0002_isolation"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExternalObject",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("project_id", models.BigIntegerField(null=True)),
                ("connector_id", models.BigIntegerField(null=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("file", "File"),
                            ("page", "Page"),
                            ("entry", "Entry"),
                            ("bucket", "Bucket"),
                        ],
                        max_length=8,
                    ),
                ),
                ("object_mac", models.BinaryField(max_length=16)),
                ("digest", models.BinaryField(max_length=16)),
                ("version_mac", models.BinaryField(max_length=16)),
                ("size", models.BigIntegerField()),
                ("revision", models.IntegerField(default=1)),
                ("seen_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("gone_at", models.DateTimeField(null=True)),
                ("key_version", models.IntegerField()),
                ("about_ct", models.BinaryField(help_text="Its external id and its title.")),
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
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="ObjectMemory",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "passage_macs",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BinaryField(max_length=16), size=None),
                ),
                ("repetitions", models.IntegerField()),
                ("withdrawn_at", models.DateTimeField(null=True)),
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
                    "object",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="sources.externalobject",
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
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddIndex(
            model_name="externalobject",
            index=models.Index(fields=["tenant", "space", "-id"], name="external_object_newest"),
        ),
        migrations.AddIndex(
            model_name="externalobject",
            index=models.Index(
                condition=models.Q(("connector_id__isnull", False), ("gone_at__isnull", True)),
                fields=["tenant", "connector_id", "seen_at"],
                name="external_object_unseen",
            ),
        ),
        migrations.AddIndex(
            model_name="externalobject",
            index=models.Index(fields=["tenant", "key_version", "id"], name="external_object_key_version"),
        ),
        migrations.AddConstraint(
            model_name="externalobject",
            constraint=models.UniqueConstraint(fields=("tenant", "space", "object_mac"), name="external_object_once"),
        ),
        migrations.AddConstraint(
            model_name="externalobject",
            constraint=models.UniqueConstraint(fields=("tenant", "space", "id"), name="external_object_in_space"),
        ),
        migrations.AddConstraint(
            model_name="externalobject",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["api", "file", "page", "entry", "bucket"])),
                name="external_object_kind",
            ),
        ),
        migrations.AddIndex(
            model_name="objectmemory",
            index=models.Index(fields=["tenant", "memory"], name="object_of_memory"),
        ),
        migrations.AddConstraint(
            model_name="objectmemory",
            constraint=models.UniqueConstraint(fields=("tenant", "object", "memory"), name="object_memory_once"),
        ),
    ]
