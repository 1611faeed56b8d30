"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0002_isolation"), ("tenants", "0002_isolation")]

    operations = [
        migrations.CreateModel(
            name="ExportJob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("public_id", models.CharField(max_length=32)),
                ("environment", models.CharField(max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                ("actor", models.CharField(max_length=64)),
                ("key_version", models.IntegerField()),
                ("attempts", models.IntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                ("end_user_id", models.BigIntegerField(null=True)),
                ("privacy_request_id", models.BigIntegerField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("format", models.CharField(choices=[("csv", "Csv"), ("jsonl", "Jsonl")], max_length=8)),
                (
                    "reach",
                    models.CharField(
                        choices=[
                            ("filtered", "Filtered"),
                            ("all", "All"),
                            ("date_range", "Date Range"),
                            ("person", "Person"),
                        ],
                        max_length=12,
                    ),
                ),
                ("filters_ct", models.BinaryField()),
                ("result_ct", models.BinaryField(null=True)),
                ("newest_id", models.BigIntegerField(default=0)),
                ("section", models.IntegerField(default=0)),
                ("after_id", models.BigIntegerField(default=0)),
                ("to_scan", models.BigIntegerField(default=0)),
                ("scanned", models.BigIntegerField(default=0)),
                ("rows", models.BigIntegerField(default=0)),
                ("unreadable", models.BigIntegerField(default=0)),
                ("chunks", models.IntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=32)),
                ("retries", models.IntegerField(default=0)),
                ("downloads", models.IntegerField(default=0)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="ExportChunk",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("number", models.IntegerField()),
                ("first_id", models.BigIntegerField(null=True)),
                ("last_id", models.BigIntegerField(null=True)),
                (
                    "memory_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                (
                    "space_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                ("payload_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="transfers.exportjob",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="ExportLink",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("issued_to", models.CharField(max_length=64)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="transfers.exportjob",
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="ImportJob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("public_id", models.CharField(max_length=32)),
                ("environment", models.CharField(max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                ("actor", models.CharField(max_length=64)),
                ("key_version", models.IntegerField()),
                ("attempts", models.IntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("format", models.CharField(max_length=8)),
                ("resume", models.BooleanField(default=False)),
                ("continue_on_error", models.BooleanField(default=False)),
                ("details_ct", models.BinaryField()),
                ("errors_ct", models.BinaryField(null=True)),
                ("revision", models.IntegerField(default=0, help_text="Of the errors; bound into their seal.")),
                ("total_records", models.IntegerField()),
                ("processed_records", models.IntegerField(default=0)),
                ("created", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("rejected", models.IntegerField(default=0)),
                ("already_imported", models.IntegerField(default=0)),
                ("pending_review", models.IntegerField(db_default=0, default=0)),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="ImportChunk",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("number", models.IntegerField()),
                ("first_line", models.IntegerField()),
                ("records", models.IntegerField()),
                ("payload_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="transfers.importjob",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.AddIndex(
            model_name="exportjob",
            index=models.Index(fields=["tenant", "environment", "-id"], name="export_job_newest"),
        ),
        migrations.AddIndex(
            model_name="exportjob",
            index=models.Index(
                condition=models.Q(("status__in", ("pending", "running"))),
                fields=["tenant", "id"],
                name="export_job_open",
            ),
        ),
        migrations.AddIndex(
            model_name="exportjob",
            index=models.Index(fields=["tenant", "key_version", "id"], name="export_job_key_version"),
        ),
        migrations.AddConstraint(
            model_name="exportjob",
            constraint=models.UniqueConstraint(fields=("tenant", "public_id"), name="export_job_public_id"),
        ),
        migrations.AddConstraint(
            model_name="exportjob",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="export_job_in_tenant"),
        ),
        migrations.AddConstraint(
            model_name="exportjob",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["pending", "running", "completed", "failed", "cancelled", "expired"])
                ),
                name="export_job_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="exportjob",
            constraint=models.CheckConstraint(
                condition=models.Q(("format__in", ["csv", "jsonl"])), name="export_job_format"
            ),
        ),
        migrations.AddConstraint(
            model_name="exportjob",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("end_user_id__isnull", False), ("privacy_request_id__isnull", False), ("reach", "person")
                    ),
                    models.Q(
                        ("end_user_id__isnull", True),
                        ("privacy_request_id__isnull", True),
                        ("reach__in", ("filtered", "all", "date_range")),
                    ),
                    _connector="OR",
                ),
                name="export_job_reach",
            ),
        ),
        migrations.AddIndex(
            model_name="exportchunk",
            index=models.Index(fields=["tenant", "key_version", "id"], name="export_chunk_key_version"),
        ),
        migrations.AddConstraint(
            model_name="exportchunk",
            constraint=models.UniqueConstraint(fields=("tenant", "job", "number"), name="export_chunk_once"),
        ),
        migrations.AddIndex(
            model_name="exportlink", index=models.Index(fields=["tenant", "job"], name="export_links_of_job")
        ),
        migrations.AddIndex(
            model_name="importjob",
            index=models.Index(fields=["tenant", "environment", "-id"], name="import_job_newest"),
        ),
        migrations.AddIndex(
            model_name="importjob",
            index=models.Index(
                condition=models.Q(("status__in", ("pending", "running"))),
                fields=["tenant", "id"],
                name="import_job_open",
            ),
        ),
        migrations.AddIndex(
            model_name="importjob",
            index=models.Index(fields=["tenant", "key_version", "id"], name="import_job_key_version"),
        ),
        migrations.AddConstraint(
            model_name="importjob",
            constraint=models.UniqueConstraint(fields=("tenant", "public_id"), name="import_job_public_id"),
        ),
        migrations.AddConstraint(
            model_name="importjob",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="import_job_in_tenant"),
        ),
        migrations.AddConstraint(
            model_name="importjob",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["pending", "running", "completed", "failed", "cancelled"])),
                name="import_job_status",
            ),
        ),
        migrations.AddIndex(
            model_name="importchunk",
            index=models.Index(fields=["tenant", "key_version", "id"], name="import_chunk_key_version"),
        ),
        migrations.AddConstraint(
            model_name="importchunk",
            constraint=models.UniqueConstraint(fields=("tenant", "job", "first_line"), name="import_chunk_line"),
        ),
    ]
