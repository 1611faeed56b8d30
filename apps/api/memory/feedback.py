"""POST /memory/{id}/feedback: rate whether a memory was useful."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Text
from apps.api.input_serializers import WriteInput
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.plaintext import Plaintext
from apps.memories.feedback import Feedback, give_feedback
from apps.memories.feedback_aggregation import Signal

MAX_COMMENT = 10_000  # characters


class FeedbackInput(WriteInput):
    signal = Choice(choices=[signal.value for signal in Signal])
    comment = Text(required=False, allow_blank=True, max_length=MAX_COMMENT, help_text="Stored encrypted.")


class TrendOutput(serializers.Serializer[Any]):
    momentum = serializers.ChoiceField(choices=["positive", "neutral", "negative"])
    consistency = serializers.FloatField()
    trend_multiplier = serializers.FloatField()
    recent_count = serializers.IntegerField()


class SummaryOutput(serializers.Serializer[Any]):
    total_signals = serializers.IntegerField()
    signal_counts = serializers.DictField(child=serializers.IntegerField())
    trend = TrendOutput()


class FeedbackOutput(serializers.Serializer[Any]):
    memory_id = serializers.IntegerField()
    signal = serializers.CharField()
    importance_before = serializers.FloatField()
    importance_after = serializers.FloatField()
    adjustment = serializers.FloatField()
    influenced_ranking = serializers.BooleanField()
    summary = SummaryOutput()


class FeedbackView(ApiView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation(
        "feedback",
        request=FeedbackInput,
        examples=[
            OpenApiExample("of use", {"signal": "positive", "comment": "Just what I needed."}, request_only=True)
        ],
        responses=FeedbackOutput,
    )
    def post(self, request: Request, memory_id: int) -> Response:
        """Rate whether a memory was useful.  This changes the memory's importance, more if callers agree."""
        fields, scope = self.read(FeedbackInput), self.reader(writes=True)
        comment = fields.get("comment")
        given = give_feedback(
            scope,
            memory_id,
            Signal(fields["signal"]),
            comment=Plaintext(comment) if comment else None,
            moves_importance=settings.FEEDBACK_MOVES_IMPORTANCE,
            now=self.now(),
        )
        return Response(_body(given))


def _body(given: Feedback) -> dict[str, Any]:
    return {
        "memory_id": given.memory_id,
        "signal": given.signal.value,
        "importance_before": given.importance_before,
        "importance_after": given.importance_after,
        "adjustment": given.adjustment,
        "influenced_ranking": given.moves_importance,
        "summary": {
            "total_signals": sum(given.counts.values()),
            "signal_counts": given.counts,
            "trend": {
                "momentum": given.trend.momentum,
                "consistency": given.trend.consistency,
                "trend_multiplier": given.trend.multiplier,
                "recent_count": given.trend.recent_count,
            },
        },
    }
