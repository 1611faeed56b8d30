"""Tables of the app."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="ImportJob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("public_id", models.CharField(max_length=32)),
                ("environment", models.CharField(max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                ("actor", models.CharField(max_length=64)),
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
                ("key_version", models.IntegerField()),
                ("total_records", models.IntegerField()),
                ("processed_records", models.IntegerField(default=0)),
                ("created", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("rejected", models.IntegerField(default=0)),
                ("already_imported", models.IntegerField(default=0)),
                ("pending_review", models.IntegerField(db_default=0, default=0)),
                ("attempts", models.IntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
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
                        to="imports.importjob",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
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
