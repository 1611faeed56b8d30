"""Tables of the app."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("full_name", models.CharField(blank=True, max_length=200)),
                ("is_staff", models.BooleanField(default=False)),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={"ordering": ("email",)},
        ),
        migrations.CreateModel(
            name="BearerSession",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("access", models.BinaryField(max_length=32)),
                ("access_expires_at", models.DateTimeField()),
                ("refresh", models.BinaryField(max_length=32)),
                ("password", models.BinaryField(max_length=32)),
                ("method", models.CharField(max_length=16)),
                ("proved_at", models.DateTimeField(null=True)),
                ("password_shown_at", models.DateTimeField(null=True)),
                ("client", models.CharField(blank=True, max_length=128)),
                ("network", models.CharField(blank=True, max_length=43)),
                ("last_used_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="BrowserSession",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("digest", models.BinaryField(max_length=32)),
                ("data", models.TextField()),
                ("expires_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EnrolmentCode",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("digest", models.BinaryField(max_length=32)),
                ("expires_at", models.DateTimeField()),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="SpentRefresh",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("digest", models.BinaryField(max_length=32)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.bearersession"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Assertion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("session", models.BinaryField(max_length=32)),
                ("binding", models.BinaryField(max_length=32)),
                ("authenticated_at", models.FloatField()),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("binding",), name="assertion_binding"),
                    models.UniqueConstraint(
                        condition=models.Q(("used_at__isnull", False)),
                        fields=("session", "authenticated_at"),
                        name="assertion_one_deed_per_step_up",
                    ),
                ]
            },
        ),
        migrations.AddConstraint(
            model_name="bearersession", constraint=models.UniqueConstraint(fields=("access",), name="bearer_access")
        ),
        migrations.AddConstraint(
            model_name="bearersession", constraint=models.UniqueConstraint(fields=("refresh",), name="bearer_refresh")
        ),
        migrations.AddIndex(
            model_name="browsersession", index=models.Index(fields=["expires_at"], name="browser_session_expires")
        ),
        migrations.AddConstraint(
            model_name="browsersession",
            constraint=models.UniqueConstraint(fields=("digest",), name="browser_session_digest"),
        ),
        migrations.AddConstraint(
            model_name="spentrefresh", constraint=models.UniqueConstraint(fields=("digest",), name="spent_refresh_once")
        ),
    ]
