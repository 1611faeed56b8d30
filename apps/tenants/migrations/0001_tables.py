"""Tables of the app."""

import uuid

import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Organization",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("name", models.CharField(max_length=100)),
                (
                    "domain",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="As they say; unchecked.", max_length=253
                    ),
                ),
            ],
            options={"ordering": ("name", "id")},
        ),
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("row_mac", models.BinaryField(max_length=36, null=True)),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=64, unique=True)),
                (
                    "key_deletes",
                    models.CharField(
                        choices=[
                            ("deny", "Refuse every delete"),
                            ("retire", "Retire: hidden at once, restorable for 7 days"),
                        ],
                        default="deny",
                        max_length=8,
                    ),
                ),
                (
                    "new_spaces",
                    models.CharField(
                        choices=[
                            ("searchable", "Keyed words and vectors: searched by the database"),
                            ("sealed", "Nothing: opened and searched in process; for small, sensitive spaces"),
                        ],
                        default="searchable",
                        max_length=12,
                    ),
                ),
                (
                    "changes",
                    models.CharField(
                        choices=[
                            ("replace", "The newer value replaces the older one"),
                            ("dispute", "Both stand, disputed, until somebody decides"),
                        ],
                        default="replace",
                        max_length=8,
                    ),
                ),
                (
                    "instructions",
                    models.CharField(
                        choices=[
                            (
                                "style",
                                "A user's own wish about answers takes effect or is a preference; all others wait",
                            ),
                            ("review", "It waits for review: a planted one must never take effect"),
                            ("keep", "It takes effect at once"),
                        ],
                        default="style",
                        max_length=8,
                    ),
                ),
                (
                    "ai_extract",
                    models.CharField(
                        choices=[
                            ("allow", "To any that the operator has named"),
                            ("self_hosted_only", "To one that the operator runs"),
                            ("deny", "To none"),
                        ],
                        db_default="self_hosted_only",
                        default="self_hosted_only",
                        max_length=16,
                    ),
                ),
                (
                    "ai_rerank",
                    models.CharField(
                        choices=[
                            ("allow", "To any that the operator has named"),
                            ("self_hosted_only", "To one that the operator runs"),
                            ("deny", "To none"),
                        ],
                        db_default="self_hosted_only",
                        default="self_hosted_only",
                        max_length=16,
                    ),
                ),
                (
                    "break_glass",
                    models.CharField(
                        choices=[
                            ("deny", "No operator reads anything"),
                            ("notify", "Two operators are enough; the tenant sees it and can end it"),
                            ("ask", "An owner of the tenant allows it each time"),
                        ],
                        db_default="ask",
                        default="ask",
                        max_length=8,
                    ),
                ),
                (
                    "require_second_factor",
                    models.CharField(
                        choices=[
                            ("no", "Of those who have one; of others the password, shown again"),
                            ("yes", "Of everybody"),
                        ],
                        db_default="no",
                        default="no",
                        max_length=8,
                    ),
                ),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("suspended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tenants", to="tenants.organization"
                    ),
                ),
            ],
            options={"ordering": ("name",)},
        ),
        migrations.CreateModel(
            name="EndUser",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("row_mac", models.BinaryField(max_length=36, null=True)),
                ("external_mac", models.BinaryField(max_length=16)),
                ("external_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
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
            name="Membership",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("row_mac", models.BinaryField(max_length=36, null=True)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("developer", "Developer"),
                            ("analyst", "Analyst"),
                            ("billing", "Billing"),
                        ],
                        max_length=16,
                    ),
                ),
                ("suspended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="tenants.organization",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "user"), name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "developer", "analyst", "billing"])),
                        name="membership_role",
                    ),
                ]
            },
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("key_deletes__in", ["deny", "retire"])), name="tenant_key_deletes"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("new_spaces__in", ["searchable", "sealed"])), name="tenant_new_spaces"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("changes__in", ["replace", "dispute"])), name="tenant_changes"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("ai_extract__in", ["allow", "self_hosted_only", "deny"])), name="tenant_ai_extract"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("ai_rerank__in", ["allow", "self_hosted_only", "deny"])), name="tenant_ai_rerank"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("break_glass__in", ["deny", "notify", "ask"])), name="tenant_break_glass"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("require_second_factor__in", ["no", "yes"])), name="tenant_second_factor"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("instructions__in", ["style", "review", "keep"])), name="tenant_instructions"
            ),
        ),
        migrations.AddIndex(
            model_name="enduser",
            index=models.Index(fields=["tenant", "key_version", "id"], name="end_user_key_version"),
        ),
        migrations.AddConstraint(
            model_name="enduser",
            constraint=models.UniqueConstraint(fields=("tenant", "external_mac"), name="end_user_once"),
        ),
        migrations.AddConstraint(
            model_name="enduser", constraint=models.UniqueConstraint(fields=("tenant", "id"), name="end_user_in_tenant")
        ),
    ]
