from django.db import migrations, models

import apps.crypto.models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ErasureEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("tenant_uid", models.UUIDField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("space", "Space"), ("tenant", "Tenant"), ("memory", "Memory")], max_length=8
                    ),
                ),
                ("target_uid", models.UUIDField(null=True)),
                ("target_id", models.BigIntegerField(null=True)),
                ("erased_at", models.DateTimeField()),
                ("actor", models.CharField(max_length=64)),
                ("request_id", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant_uid", "id"], name="erasures_of_tenant")],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "target_uid"), name="erased_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["space", "tenant", "memory"])), name="erasure_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "memory"), ("target_id__isnull", False), ("target_uid__isnull", True)),
                            models.Q(
                                models.Q(("kind", "memory"), _negated=True),
                                ("target_id__isnull", True),
                                ("target_uid__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="erasure_names_its_target",
                    ),
                ],
            },
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
    ]
