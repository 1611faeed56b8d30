"""POST /memory/compose: a prompt with relevant memories inserted."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Flag, Fraction, Label, Text, Whole
from apps.api.input_serializers import OWNERS, Input
from apps.api.memory.query import MOST
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.plaintext import Plaintext
from apps.memories.pinned import MOST as MOST_PINNED
from apps.recall.answering import compose

MAX_TEMPLATE: Final = 100_000  # characters
MAX_TOKENS: Final = 1_000_000


class ComposeInput(Input):
    """A prompt, with ``{{memories}}`` or ``{memories}`` where memories are inserted; by default at its start."""

    passed_over = OWNERS

    prompt_template = Text(max_length=MAX_TEMPLATE, help_text="The text besides the placeholder is the query.")
    recall_k = Whole(
        default=5, min_value=1, max_value=MOST, help_text=f"How many memories: 5 by default, at most {MOST}."
    )
    max_tokens = Whole(
        required=False,
        min_value=1,
        max_value=MAX_TOKENS,
        help_text="Budget of the whole prompt, estimated. A memory that does not fit is omitted entirely.",
    )
    min_relevance = Fraction(required=False, help_text="Insert no memory whose relevance is lower.")
    pinned = Flag(
        default=True,
        help_text=f"Insert pinned memories first, at most {MOST_PINNED}. They do not count towards `recall_k`.",
    )
    standing_profile = Flag(
        default=True,
        help_text="Insert what every answer has to respect first: allergies, medication, diet, name, pronouns, "
        "language and instructions. They do not count towards `recall_k`.",
    )
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")


class ComposeOutput(serializers.Serializer[Any]):
    composed_prompt = serializers.CharField()
    memories_used = serializers.IntegerField()
    token_count = serializers.IntegerField(help_text="An estimate: about one for each six letters of a word.")
    truncated = serializers.BooleanField(help_text="A memory was omitted, or the template alone exceeds the budget.")


class ComposeView(ApiView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"composed_prompt": "", "memories_used": 0, "token_count": 0, "truncated": False}

    @operation(
        "compose",
        request=ComposeInput,
        examples=[
            OpenApiExample(
                "a prompt",
                {"prompt_template": "Plan a weekend for me.\n{{memories}}", "recall_k": 5, "max_tokens": 800},
                request_only=True,
            )
        ],
        responses=ComposeOutput,
    )
    def post(self, request: Request) -> Response:
        """Insert the memories that best answer a prompt into it.

        First pinned memories, then the user's standing profile, then what is relevant, best first, with dates; nothing
        that may be outdated.  One line each, within the budget; memories are never split.
        """
        fields = self.read(ComposeInput)
        made = compose(
            self.reader(fields.get("end_user_id"), spans=True),
            Plaintext(fields["prompt_template"]),
            limit=fields["recall_k"],
            max_tokens=fields.get("max_tokens"),
            min_relevance=fields.get("min_relevance"),
            with_pinned=fields["pinned"],
            with_profile=fields["standing_profile"],
            now=self.now(),
        )
        return Response(
            {
                "composed_prompt": made.prompt,
                "memories_used": len(made.used),
                "token_count": made.tokens,
                "truncated": made.truncated,
            }
        )
