"""Files as other products export them, written from what is documented about their formats; no real account's."""

import io
import json
import zipfile
from typing import Any

MARCH = 1_772_442_000.5  # 2026-03-02T09:00:00.5Z


def chatgpt_node(name: str, parent: str | None, role: str, *parts: Any, **message: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    whole = {"id": f"msg-{name}", "author": {"role": role}, "create_time": MARCH, "content": content, "metadata": {}}
    return {"id": name, "parent": parent, "children": [], "message": whole | message}


SAVED = "# Model Set Context\n\n1. [2025-06-01]. Lives in Ghent.\n\n2. [2025-07-02]. Has a dog."
CHATGPT: list[Any] = [
    {
        "title": "Allergies",
        "conversation_id": "conv-1",
        "create_time": MARCH,
        "current_node": "answer",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": [], "message": None},
            "instructions": chatgpt_node(
                "instructions", "root", "user",
                content={"content_type": "user_editable_context", "user_profile": "Be brief."},
            ),
            "memories": chatgpt_node(
                "memories", "instructions", "assistant",
                content={
                    "content_type": "model_editable_context",
                    "model_set_context": SAVED,
                },
            ),
            "edited": chatgpt_node("edited", "memories", "user", "I am alergic to hazelnuts."),
            "typed": chatgpt_node("typed", "memories", "user", "I am allergic to hazelnuts."),
            "picture": chatgpt_node("picture", "typed", "user", {"content_type": "image_asset_pointer"}),
            "answer": chatgpt_node("answer", "picture", "assistant", "Then leave them out."),
        },
    },
    {"title": None, "id": "conv-2", "current_node": "gone", "mapping": {
        "a": chatgpt_node("a", None, "user", "I work at the port of Antwerp.", create_time=None)}},
    "not a conversation",
]  # fmt: skip

CLAUDE: list[Any] = [
    {
        "uuid": "c-1",
        "name": "Trips",
        "created_at": "2026-03-02T09:00:00Z",
        "account": {"uuid": "acct"},
        "chat_messages": [
            {"uuid": "m-1", "sender": "human", "text": "", "created_at": "2026-03-02T09:00:00.123456Z",
             "content": [{"type": "text", "text": "I prefer trains to planes."}], "attachments": []},
            {"uuid": "m-2", "sender": "assistant", "text": "Noted.", "created_at": "2026-03-02T09:00:01Z"},
            {"uuid": "m-3", "sender": "human", "text": "We leave for Porto on 4 May.", "created_at": "yesterday"},
            {"uuid": "m-4", "sender": "human", "text": "  ", "content": [{"type": "tool_result"}]},
        ],
    }
]  # fmt: skip
CLAUDE_MEMORIES: list[Any] = [
    {
        "conversations_memory": "**Work context**\n\nAnna is a nurse in Ghent.\n\n- She works nights.",
        "project_memories": {"p-1": "The garden project needs a fence."},
        "account_uuid": "acct",
    }
]

MEM0: dict[str, Any] = {
    "count": 3,
    "next": None,
    "results": [
        {
            "id": "a1b2", "memory": "Prefers trains to planes.", "user_id": "alice", "agent_id": None,
            "metadata": {"role": "assistant"}, "categories": ["travel"],
            "created_at": "2025-11-02T01:00:00-08:00", "updated_at": "2026-02-14T18:30:00Z",
        },
        {"id": "c3d4", "memory": "Works at the port of Antwerp.", "user_id": "bob", "run_id": "r-1"},
        {"id": "e5f6", "memory": None, "user_id": "bob"},
    ],
}  # fmt: skip

ZEP: dict[str, Any] = {
    "edges": [
        {"uuid": "e-1", "name": "LIVES_IN", "fact": "Anna lives in Ghent.", "valid_at": "2026-02-01T00:00:00Z",
         "invalid_at": None, "expired_at": None, "created_at": "2026-02-03T10:00:00Z"},
        {"uuid": "e-2", "name": "LIVES_IN", "fact": "Anna lives in Utrecht.", "valid_at": "2024-02-01T00:00:00Z",
         "invalid_at": "2026-02-01T00:00:00Z", "created_at": "2024-02-03T10:00:00Z"},
    ],
    "episodes": [
        {"uuid": "p-1", "content": "I moved to Ghent.", "role_type": "user", "source": "message",
         "created_at": "2026-02-03T10:00:00Z", "session_id": "s-1"},
        {"uuid": "p-2", "content": "How nice!", "role_type": "assistant", "source": "message"},
        {"uuid": "n-1", "name": "Anna", "summary": "Anna lives in Ghent."},
    ],
}  # fmt: skip

SUPERMEMORY: dict[str, Any] = {
    "memories": [
        {"id": "doc-1", "customId": "note", "content": "Prefers trains to planes.", "type": "text", "status": "done",
         "containerTags": ["user_123"], "createdAt": "2026-03-02T09:00:00.000Z", "metadata": {"category": "travel"}},
        {"id": "doc-2", "content": "https://example.org/a", "summary": "A page about trains.", "type": "webpage",
         "status": "done", "containerTags": ["user_123", "project_x"], "title": "Trains"},
        {"id": "doc-3", "content": "x", "status": "failed"},
    ],
    "memoryEntries": [
        {"id": "mem-1", "memory": "Works in Antwerp.", "isLatest": True, "isForgotten": False},
        {"id": "mem-2", "memory": "Works in Ghent.", "isLatest": False},
        {"id": "mem-3", "memory": "Has a cat.", "isForgotten": True},
    ],
    "pagination": {"currentPage": 1},
}  # fmt: skip

LETTA: dict[str, Any] = {
    "agents": [{"name": "helper", "messages": [
        {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are helpful."}]},
        {"id": "message-1", "role": "user", "created_at": "2026-03-02T09:00:00+00:00", "content": [{"type": "text",
         "text": json.dumps({"type": "user_message", "message": "I prefer trains.", "time": "now"})}]},
        {"id": "message-2", "role": "user", "content": [{"type": "text", "text": '{"type": "heartbeat"}'}]},
        {"id": "message-3", "role": "user", "content": "{not JSON"},
    ]}],
    "blocks": [
        {"id": "block-0", "label": "persona", "value": "I am a helpful agent."},
        {"id": "block-1", "label": "human", "value": "# About\nName: Anna\n- Works nights."},
    ],
    "tools": [{"name": "send_message", "value": "not a block"}],
}  # fmt: skip
LETTA_PASSAGES: list[Any] = [
    {
        "id": "passage-1",
        "text": "Anna's sister lives in Turin.",
        "created_at": "2026-03-02T09:00:00Z",
        "tags": ["family"],
    }
]


def zipped(**documents: Any) -> bytes:
    """An archive of JSON documents, by their names; ``__`` in a name is a dot, and ``___`` a slash."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in documents.items():
            archive.writestr(name.replace("___", "/").replace("__", "."), json.dumps(content))
    return made.getvalue()
