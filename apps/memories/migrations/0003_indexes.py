"""Indexes and constraints of memories and of what is derived from them."""

import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_derived_tables")]

    operations = [
        migrations.AddIndex(
            model_name="memory", index=models.Index(fields=["tenant", "space", "-id"], name="memory_newest")
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "environment", "type", "validity", "retention_status"], name="memory_tally"
            ),
        ),
        migrations.AddIndex(
            model_name="memory", index=models.Index(fields=["tenant", "space", "text_mac"], name="memory_text")
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("said_mac__isnull", False)),
                fields=["tenant", "space", "said_mac"],
                name="memory_said",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("actor_token__isnull", False)),
                fields=["tenant", "space", "actor_token"],
                name="memory_actor",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("slot__isnull", False)), fields=["tenant", "space", "slot"], name="memory_slot"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("session_token__isnull", False)),
                fields=["tenant", "space", "session_token", "id"],
                name="memory_session",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False), ("retention_status__in", ("active", "archived"))),
                fields=["tenant", "expires_at"],
                name="memory_expires",
            ),
        ),
        migrations.AddIndex(
            model_name="memory", index=models.Index(fields=["tenant", "key_version", "id"], name="memory_key_version")
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("tenant"),
                models.F("space"),
                django.db.models.functions.comparison.Coalesce("event_at", "created_at"),
                models.F("id"),
                name="memory_said_at",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("tenant"),
                models.F("space"),
                django.contrib.postgres.fields.ranges.RangeStartsWith("event_range"),
                condition=models.Q(("event_range__isnull", False)),
                name="memory_stretch",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("tenant"),
                django.db.models.functions.comparison.Greatest("created_at", "last_used_at"),
                condition=models.Q(("retention_status__in", ("active", "archived"))),
                name="memory_ageing",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status__in", ("active", "archived"))),
                fields=["tenant", "created_at"],
                name="memory_stored",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status", "archived")),
                fields=["tenant", "archive_at"],
                name="memory_archived",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status__in", ("soft_deleted", "hard_delete_pending"))),
                fields=["tenant", "hard_delete_at"],
                name="memory_leaving",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("type", "event")), fields=["tenant", "created_at"], name="memory_ageing_events"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("validity", "superseded")),
                fields=["tenant", "superseded_at"],
                name="memory_replaced",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("project__isnull", False)), fields=["tenant", "project"], name="memory_project"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("superseded_by__isnull", False)),
                fields=["tenant", "superseded_by"],
                name="memory_superseded_by",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory", constraint=models.UniqueConstraint(fields=("tenant", "id"), name="memory_in_tenant")
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(fields=("tenant", "space", "id"), name="memory_in_space"),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retention_status", "active"), ("slot__isnull", False), ("validity", "current")),
                fields=("tenant", "space", "slot"),
                name="memory_one_current_per_slot",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retention_status", "active")),
                fields=("tenant", "space", "public_id"),
                name="memory_one_active_per_public_id",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["development", "staging", "production"])),
                name="memory_environment",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("validity__in", ["current", "superseded", "disputed"])), name="memory_validity"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("retention_status__in", ["active", "archived", "soft_deleted", "hard_delete_pending", "purged"])
                ),
                name="memory_retention",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("tier__in", ["hot", "warm", "cold"])), name="memory_tier"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("importance__gte", 0.0), ("importance__lte", 1.0)), name="memory_importance"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryclaim", index=models.Index(fields=["tenant", "memory"], name="claims_of_memory")
        ),
        migrations.AddIndex(
            model_name="memoryclaim",
            index=models.Index(
                condition=models.Q(("slot__isnull", False)), fields=["tenant", "space", "slot"], name="claim_slot"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryclaim",
            index=models.Index(fields=["tenant", "space", "subject_mac", "predicate_mac"], name="claim_about"),
        ),
        migrations.AddIndex(
            model_name="memoryclaim",
            index=models.Index(fields=["tenant", "key_version", "id"], name="claim_key_version"),
        ),
        migrations.AddIndex(
            model_name="memoryfeedback",
            index=models.Index(fields=["tenant", "memory", "-id"], name="feedback_of_memory"),
        ),
        migrations.AddIndex(
            model_name="memoryfeedback",
            index=models.Index(
                condition=models.Q(("key_version__isnull", False)),
                fields=["tenant", "key_version", "id"],
                name="feedback_key_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryfeedback",
            constraint=models.CheckConstraint(
                condition=models.Q(("signal__in", ["positive", "negative", "retrieved", "ignored"])),
                name="feedback_signal",
            ),
        ),
        migrations.AddIndex(
            model_name="memoryperiod", index=models.Index(fields=["tenant", "memory"], name="period_of_memory")
        ),
        migrations.AddIndex(
            model_name="memorytransition",
            index=models.Index(fields=["tenant", "memory_id", "id"], name="transition_of_memory"),
        ),
        migrations.AddIndex(
            model_name="memorytransition",
            index=models.Index(
                condition=models.Q(("key_version__isnull", False)),
                fields=["tenant", "key_version", "id"],
                name="transition_key_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryvector",
            constraint=models.UniqueConstraint(fields=("tenant", "memory"), name="vector_one_per_memory"),
        ),
        migrations.AddConstraint(
            model_name="memoryvector",
            constraint=models.UniqueConstraint(fields=("tenant", "vector_id"), name="vector_id_once"),
        ),
        migrations.AddConstraint(
            model_name="owntype", constraint=models.UniqueConstraint(fields=("tenant", "name"), name="own_type_once")
        ),
        migrations.AddConstraint(
            model_name="owntype",
            constraint=models.CheckConstraint(
                condition=models.Q(("prior__gte", 0.0), ("prior__lte", 0.2)), name="own_type_prior"
            ),
        ),
        migrations.AddConstraint(
            model_name="owntype",
            constraint=models.CheckConstraint(
                condition=models.Q(("half_life_days__gt", 0.0)), name="own_type_half_life"
            ),
        ),
        migrations.AddConstraint(
            model_name="quarantinedrow",
            constraint=models.UniqueConstraint(fields=("tenant", "table", "record_id"), name="quarantined_once"),
        ),
        migrations.AddIndex(
            model_name="summarysource", index=models.Index(fields=["tenant", "source_id"], name="summaries_of_source")
        ),
        migrations.AddConstraint(
            model_name="summarysource",
            constraint=models.UniqueConstraint(fields=("tenant", "summary", "source_id"), name="summary_source_once"),
        ),
        migrations.AddIndex(
            model_name="tombstone", index=models.Index(fields=["tenant", "expires_at"], name="tombstone_due")
        ),
        migrations.AddConstraint(
            model_name="tombstone", constraint=models.UniqueConstraint(fields=("tenant", "mac"), name="tombstone_once")
        ),
        migrations.AddIndex(
            model_name="typerule", index=models.Index(fields=["tenant", "id"], name="type_rules_in_order")
        ),
    ]
