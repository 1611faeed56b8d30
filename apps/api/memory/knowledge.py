"""GET /memory/knowledge/stats and /memory/intelligence: counts and topics of an end user's memories."""

from dataclasses import replace
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, ClampedInQuery, Label
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.recall.intelligence import Insight
from apps.recall.knowledge import RECENT, Knowledge, KnowledgeReport, intelligence, knowledge_stats

OWN_SCOPE = "user"


class EdgeCountsOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    by_type = serializers.DictField(child=serializers.IntegerField())


class StatsOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    by_type = serializers.DictField(child=serializers.IntegerField())
    by_tier = serializers.DictField(child=serializers.IntegerField())
    by_source = serializers.DictField(
        child=serializers.IntegerField(), help_text="The fifty most common; an empty name means none."
    )
    by_status = serializers.DictField(child=serializers.IntegerField())
    by_validity = serializers.DictField(child=serializers.IntegerField())
    summaries = serializers.IntegerField()
    embedded = serializers.IntegerField()
    embedded_share = serializers.FloatField(help_text="0 to 1; 1 if there is nothing.")
    edges = EdgeCountsOutput()
    oldest_at = serializers.DateTimeField(allow_null=True)
    newest_at = serializers.DateTimeField(allow_null=True)


class KnowledgeStatsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("knowledge_stats", responses=StatsOutput)
    def get(self, request: Request) -> Response:
        """Count an end user's memories by type, tier, source and status."""
        return Response(_stats_body(knowledge_stats(self.reader(), now=self.now())))


class IntelligenceInput(Parameters):
    """How much to tell, and of whose memories."""

    limit = ClampedInQuery(
        lowest=1, highest=200, default=10, help_text="Of themes, entities and patterns each; at most 200."
    )
    scope = Choice(
        choices=(OWN_SCOPE,),
        default=OWN_SCOPE,
        help_text="The namespace; only the end user's own memories.",
    )
    project_id = Label(required=False, help_text="This project and no project; overrides the X-Project-ID header.")


class ThemeOutput(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment]  # the wire's name, not DRF's
    count = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.IntegerField())


class PatternOutput(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="repeated, recalled or weekday")
    label = serializers.CharField()  # type: ignore[assignment]  # the wire's name, not DRF's
    count = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.IntegerField())


class HorizonOutput(serializers.Serializer[Any]):
    days = serializers.IntegerField(allow_null=True, help_text="How far it reaches back; null: no limit.")
    memories = serializers.IntegerField()
    themes = ThemeOutput(many=True)
    entities = ThemeOutput(many=True)
    patterns = PatternOutput(many=True)


class HorizonsOutput(serializers.Serializer[Any]):
    recent = HorizonOutput()
    lifetime = HorizonOutput()


class IntelligenceOutput(serializers.Serializer[Any]):
    scope = serializers.CharField()
    generated_at = serializers.DateTimeField()
    sampled = serializers.IntegerField(help_text="How many memories were considered.")
    themes = ThemeOutput(many=True)
    entities = ThemeOutput(many=True)
    patterns = PatternOutput(many=True)
    horizons = HorizonsOutput()


class IntelligenceView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("intelligence", parameters=[IntelligenceInput], responses=IntelligenceOutput)
    def get(self, request: Request) -> Response:
        """Topics of an end user's memories: themes, names and habits, of the last 30 days and of all time.

        Counted over a bounded sample: the newest 200 memories and the 200 most important.
        """
        asked, now = self.read_parameters(IntelligenceInput), self.now()
        scope = self.reader()
        if "project_id" in asked:
            scope = replace(scope, project_id=self.project_named(asked["project_id"]).pk)
        report = intelligence(scope, limit=asked["limit"], now=now)
        return Response(
            {"scope": asked["scope"], "generated_at": now, "sampled": report.sampled, **_report_body(report)}
        )


def _stats_body(known: Knowledge) -> dict[str, Any]:
    memories = known.memories
    return {
        "total": memories.total,
        **{f"by_{name}": dict(counts) for name, counts in memories.by.items()},
        "summaries": memories.summaries,
        "embedded": memories.embedded,
        "embedded_share": round(memories.embedded / memories.total, 4) if memories.total else 1.0,
        "edges": {"total": sum(known.edges.values()), "by_type": dict(known.edges)},
        "oldest_at": memories.oldest_at,
        "newest_at": memories.newest_at,
    }


def _report_body(report: KnowledgeReport) -> dict[str, Any]:
    lifetime = _insight_body(report.lifetime)
    return {
        **{name: lifetime[name] for name in ("themes", "entities", "patterns")},
        "horizons": {
            "recent": {"days": RECENT.days, **_insight_body(report.recent)},
            "lifetime": {"days": None, **lifetime},
        },
    }


def _insight_body(insight: Insight) -> dict[str, Any]:
    return {
        "memories": insight.memories,
        "themes": [
            {"label": one.label, "count": one.count, "memory_ids": list(one.memory_ids)} for one in insight.themes
        ],
        "entities": [
            {"label": one.label, "count": one.count, "memory_ids": list(one.memory_ids)} for one in insight.entities
        ],
        "patterns": [
            {"kind": one.kind, "label": one.label, "count": one.count, "memory_ids": list(one.memory_ids)}
            for one in insight.patterns
        ],
    }
