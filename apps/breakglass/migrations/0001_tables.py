"""Tables of the app."""

import datetime

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("asked_by", models.BigIntegerField()),
                (
                    "reason",
                    models.CharField(help_text="Read by the second operator and by the tenant.", max_length=200),
                ),
                ("ticket", models.CharField(max_length=64)),
                ("waits_until", models.DateTimeField()),
                ("approved_by", models.BigIntegerField(null=True)),
                ("approved_at", models.DateTimeField(null=True)),
                ("allowed_by", models.BigIntegerField(null=True)),
                ("allowed_at", models.DateTimeField(null=True)),
                ("opened_at", models.DateTimeField(null=True)),
                ("ends_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, default="", max_length=64)),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "opened_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
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
                "verbose_name": "break-glass grant",
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [models.Index(fields=["tenant", "id"], name="breakglass_of_tenant")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("approved_by", None),
                            models.Q(("approved_by", models.F("asked_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="breakglass_second_operator",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("allowed_by", None),
                            models.Q(("allowed_by", models.F("asked_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="breakglass_not_allowed_by_asker",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("allowed_by", None),
                            ("approved_by", None),
                            models.Q(("allowed_by", models.F("approved_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="breakglass_third_person",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ends_at", None), ("opened_at", None)),
                            models.Q(
                                ("approved_by__isnull", False),
                                (
                                    "ends_at",
                                    django.db.models.expressions.CombinedExpression(
                                        models.F("opened_at"), "+", models.Value(datetime.timedelta(seconds=1800))
                                    ),
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="breakglass_half_an_hour",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        )
    ]
