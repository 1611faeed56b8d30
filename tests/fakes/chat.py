"""Chat completions on the loopback: a model that reads by a table, and everything that goes wrong with real ones."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.fakes import model_service
from tests.fakes.model_service import FakeModel
from tests.fakes.service import FakeAnswer

# How a real endpoint fails, and what it fails with.
FAULTS: Final = (
    "malformed",
    "wrong_schema",
    "extra_field",
    "not_json",
    "truncated",
    "refusing",
    "filtered",
    "no_choices",
    "invented",
    "endless",
    *model_service.FAULTS,
)

_LIVES: Final = re.compile(r"I (?:live in|moved to) ([A-Z]\w+)[^.]*\.?")
_ORDER: Final = re.compile(r"Always [^.]*\.?")


class FakeChat(FakeModel):
    """Knows where people live and what they always want; ``says`` puts other words into its mouth."""

    operation = "chat"

    def __init__(self) -> None:
        self.says: Sequence[Mapping[str, Any]] | None = None
        self.tokens = (412, 57)
        super().__init__()

    def answer_body(self, body: dict[str, Any]) -> dict[str, Any]:
        told = json.loads(body["messages"][-1]["content"])
        return self._completion(self._content(told["turn"]))

    def answer_throttled(self) -> FakeAnswer:
        self.calls["chat"] += 1
        return FakeAnswer(429, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit"}})

    def answer_denied(self) -> FakeAnswer:
        return FakeAnswer(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})

    def answer_failed(self) -> FakeAnswer:
        self.calls["chat"] += 1
        return FakeAnswer(500, {"error": {"message": "The server had an error", "type": "server_error"}})

    def _completion(self, content: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
        if self.fault == "refusing":
            message |= {"content": None, "refusal": "I cannot help with that."}
        elif self.fault == "filtered":
            choice["finish_reason"] = "content_filter"
        elif self.fault == "truncated":
            message["content"] = content[: len(content) // 2]
            choice["finish_reason"] = "length"
        usage = {"prompt_tokens": self.tokens[0], "completion_tokens": self.tokens[1], "total_tokens": sum(self.tokens)}
        choices = [] if self.fault == "no_choices" else [choice]
        return {"id": "chatcmpl-1", "object": "chat.completion", "choices": choices, "usage": usage}

    def _content(self, turn: str) -> str:
        if self.fault == "malformed":
            return '{"memories": [{"quote": '
        if self.fault == "not_json":
            return "Sure! Here is what I found: the user lives somewhere."
        if self.fault == "endless":
            return json.dumps({"memories": [], "pad": "x" * 2_000_000})
        memories = list(self.says) if self.says is not None else _read(turn)
        if self.fault == "wrong_schema":
            memories = [{"text": turn, "kind": "fact"}]
        elif self.fault == "extra_field":
            memories = [memory | {"note": "as asked"} for memory in _read(turn)] or [{"note": "nothing"}]
        elif self.fault == "invented":
            memories = [proposed("The user is a millionaire.", key="user.wealth", value="millionaire")]
        return json.dumps({"memories": memories})


def proposed(
    quote: str, kind: str = "fact", *, key: str | None = None, value: str | None = None, **more: Any
) -> dict[str, Any]:
    """One memory as a model that keeps to the schema proposes it.  kind: its type."""
    return {"quote": quote, "type": kind, "key": key, "value": value, "event_date": None, "confidence": 0.95} | more


def _read(turn: str) -> list[dict[str, Any]]:
    found = [proposed(place[0], key="user.home.city", value=place[1].lower()) for place in _LIVES.finditer(turn)]
    return found + [proposed(order[0], "instruction", key="style.order") for order in _ORDER.finditer(turn)]
