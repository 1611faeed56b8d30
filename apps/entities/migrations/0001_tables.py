"""Tables of the app."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("memories", "0001_tables"), ("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Entity",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("type", models.CharField(blank=True, max_length=16)),
                ("is_user", models.BooleanField(default=False, help_text="The end user themselves.")),
                (
                    "needs_review",
                    models.BooleanField(default=False, help_text="It may be another that is known, or two."),
                ),
                (
                    "merged_into",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="entities.entity",
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="EntityAlias",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("origin_id", models.BigIntegerField()),
                ("alias_mac", models.BinaryField(max_length=16)),
                ("alias_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
                ("is_role", models.BooleanField(default=False)),
                (
                    "entity",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="entities.entity",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="entities.entityalias",
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="EntityClaim",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("subject_origin_id", models.BigIntegerField()),
                ("object_origin_id", models.BigIntegerField(null=True)),
                ("claim_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
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
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="entities.entity",
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
                    "subject",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="entities.entity",
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
            name="EntityMention",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("origin_id", models.BigIntegerField()),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("exact", "Exact"),
                            ("part", "as a part of a name"),
                            ("pronoun", "Pronoun"),
                            ("trigram", "Trigram"),
                            ("judge", "Judge"),
                            ("user", "User"),
                        ],
                        max_length=8,
                    ),
                ),
                ("is_unsure", models.BooleanField(default=False)),
                (
                    "alias",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="entities.entityalias",
                    ),
                ),
                (
                    "entity",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="entities.entity",
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.AddIndex(
            model_name="entity",
            index=models.Index(fields=["tenant", "space", "type", "-id"], name="entity_newest_of_type"),
        ),
        migrations.AddIndex(
            model_name="entity",
            index=models.Index(
                condition=models.Q(("merged_into__isnull", False)),
                fields=["tenant", "space", "merged_into"],
                name="entity_merged",
            ),
        ),
        migrations.AddConstraint(
            model_name="entity",
            constraint=models.UniqueConstraint(fields=("tenant", "space", "id"), name="entity_in_space"),
        ),
        migrations.AddConstraint(
            model_name="entity",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_user", True)), fields=("tenant", "space"), name="entity_one_user"
            ),
        ),
        migrations.AddConstraint(
            model_name="entity",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("type", ""),
                    ("type__in", ("person", "organization", "team", "place", "product", "project", "other")),
                    _connector="OR",
                ),
                name="entity_type",
            ),
        ),
        migrations.AddIndex(
            model_name="entityalias",
            index=models.Index(fields=["tenant", "space", "alias_mac"], name="entity_by_alias"),
        ),
        migrations.AddIndex(
            model_name="entityalias", index=models.Index(fields=["tenant", "space", "entity"], name="aliases_of_entity")
        ),
        migrations.AddIndex(
            model_name="entityalias", index=models.Index(fields=["tenant", "space", "-id"], name="entity_alias_newest")
        ),
        migrations.AddIndex(
            model_name="entityalias",
            index=models.Index(
                condition=models.Q(("parent__isnull", False)), fields=["tenant", "parent"], name="entity_alias_short"
            ),
        ),
        migrations.AddIndex(
            model_name="entityalias",
            index=models.Index(fields=["tenant", "key_version", "id"], name="entity_alias_key_version"),
        ),
        migrations.AddConstraint(
            model_name="entityalias",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="entity_alias_in_tenant"),
        ),
        migrations.AddConstraint(
            model_name="entityalias",
            constraint=models.UniqueConstraint(fields=("tenant", "origin_id", "alias_mac"), name="entity_alias_once"),
        ),
        migrations.AddIndex(
            model_name="entityclaim", index=models.Index(fields=["tenant", "memory"], name="entity_claims_of_memory")
        ),
        migrations.AddIndex(
            model_name="entityclaim",
            index=models.Index(fields=["tenant", "space", "subject", "-memory"], name="entity_claims_of"),
        ),
        migrations.AddIndex(
            model_name="entityclaim",
            index=models.Index(
                condition=models.Q(("object__isnull", False)),
                fields=["tenant", "space", "object", "-memory"],
                name="entity_claims_on",
            ),
        ),
        migrations.AddIndex(
            model_name="entityclaim",
            index=models.Index(fields=["tenant", "key_version", "id"], name="entity_claim_key_version"),
        ),
        migrations.AddIndex(
            model_name="entitymention",
            index=models.Index(fields=["tenant", "memory", "entity"], name="entity_mentions_of_memory"),
        ),
        migrations.AddIndex(
            model_name="entitymention",
            index=models.Index(fields=["tenant", "space", "entity", "-memory"], name="mentions_of_entity"),
        ),
        migrations.AddIndex(
            model_name="entitymention",
            index=models.Index(
                condition=models.Q(("alias__isnull", False)), fields=["tenant", "alias"], name="mentions_by_alias"
            ),
        ),
    ]
