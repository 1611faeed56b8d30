"""Exports of other products become records; what is left out has a reason, and a hostile file an error."""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memsync.client import commands
from memsync.importers import files
from memsync.importers.files import FileUnreadable
from memsync.importers.previews import preview
from memsync.importers.products import FORMATS
from memsync.importers.records import ConvertedRecord, Item, SkippedItem, lines_of_notes
from tests.memsync.exports import (
    CHATGPT,
    CLAUDE,
    CLAUDE_MEMORIES,
    LETTA,
    LETTA_PASSAGES,
    MEM0,
    SUPERMEMORY,
    ZEP,
    zipped,
)


def items(product: str, content: Any) -> list[Item]:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return list(FORMATS[product].read(io.BufferedReader(io.BytesIO(raw))))  # type: ignore[arg-type]


def records(product: str, content: Any) -> list[dict[str, Any]]:
    return [dict(one.fields) for one in items(product, content) if isinstance(one, ConvertedRecord)]


def texts(product: str, content: Any) -> list[str]:
    return [one["text"] for one in records(product, content)]


def reasons(product: str, content: Any) -> list[str]:
    return [one.reason for one in items(product, content) if isinstance(one, SkippedItem)]


def test_chatgpt_gives_what_the_user_wrote_on_the_last_branch_and_the_saved_memories() -> None:
    content = zipped(user__json={"id": "u"}, conversations__json=CHATGPT)

    found = records("chatgpt", content)

    assert found[0] == {
        "text": "I am allergic to hazelnuts.",
        "source": "chatgpt",
        "client_ref": "chatgpt:msg-typed",
        "occurred_at": "2026-03-02T09:00:00.500000+00:00",
        "session_id": "conv-1",
        "metadata": {"chatgpt": {"title": "Allergies"}},
    }
    assert (found[1]["text"], "occurred_at" in found[1]) == ("I work at the port of Antwerp.", False)
    assert [(one["text"], one["occurred_at"][:10], one["importance"]) for one in found[2:]] == [
        ("Lives in Ghent.", "2025-06-01", 0.7),
        ("Has a dog.", "2025-07-02", 0.7),
    ]
    assert sorted(reasons("chatgpt", content)) == [
        "no text",
        "no text",
        "not a conversation",
        "not written by the user",
        "not written by the user",
        "replaced by an edit",
    ]


def test_chatgpt_s_numbered_files_and_its_bare_file_are_read() -> None:
    numbered = zipped(export___conversations_000__json=[]).replace(b"conversations_000", b"conversations-000")

    assert items("chatgpt", numbered) == []
    assert texts("chatgpt", b"\xef\xbb\xbf" + json.dumps(CHATGPT).encode()) == texts("chatgpt", CHATGPT)


def test_only_the_newest_list_of_saved_memories_counts() -> None:
    def conversation(time: float, memory: str) -> dict[str, Any]:
        content = {"content_type": "model_editable_context", "model_set_context": f"1. [2025-06-01]. {memory}"}
        message = {"id": "m", "author": {"role": "assistant"}, "create_time": time, "content": content}
        return {"id": "c", "mapping": {"n": {"message": message}}}

    assert texts("chatgpt", [conversation(2.0, "Lives in Ghent."), conversation(1.0, "Lives in Utrecht.")]) == [
        "Lives in Ghent."
    ]


def test_claude_gives_what_the_person_wrote_and_the_statements_of_its_memory() -> None:
    content = zipped(conversations__json=CLAUDE, memories__json=CLAUDE_MEMORIES, projects__json=[{"uuid": "p"}])

    found = records("claude", content)

    assert [one["text"] for one in found] == [
        "I prefer trains to planes.",
        "We leave for Porto on 4 May.",
        "Anna is a nurse in Ghent.",
        "She works nights.",
        "The garden project needs a fence.",
    ]
    assert [one.get("importance") for one in found] == [None, None, 0.7, 0.7, 0.7]
    assert (found[0]["session_id"], found[0]["client_ref"]) == ("c-1", "claude:m-1")
    assert "occurred_at" not in found[1]
    assert reasons("claude", content) == ["not written by the user", "no text"]


def test_claude_s_memory_may_be_a_file_for_each_account() -> None:
    assert texts("claude", zipped(memories___acct__json=CLAUDE_MEMORIES[0])) == texts("claude", CLAUDE_MEMORIES)


def test_mem0_gives_each_memory_to_its_user() -> None:
    found = records("mem0", MEM0)

    assert found[0] == {
        "text": "Prefers trains to planes.",
        "source": "mem0",
        "client_ref": "mem0:a1b2",
        "occurred_at": "2026-02-14T18:30:00+00:00",
        "end_user_id": "alice",
        "importance": 0.7,
        "tags": ["travel"],
        "metadata": {"mem0": {"metadata": {"role": "assistant"}}},
    }
    assert (found[1]["end_user_id"], found[1]["session_id"]) == ("bob", "r-1")
    assert reasons("mem0", MEM0) == ["no text"]
    assert texts("mem0", MEM0["results"]) == texts("mem0", {"memories": MEM0["results"]}) == texts("mem0", MEM0)


def test_zep_s_facts_that_had_ended_come_as_replaced_with_their_times() -> None:
    current, ended, episode = records("zep", ZEP)

    assert (current["text"], current["occurred_at"][:10], "validity" in current) == (
        "Anna lives in Ghent.", "2026-02-01", False,
    )  # fmt: skip
    assert (
        ended.items()
        >= {
            "extracted_type": "fact",
            "validity": "superseded",
            "valid_from": "2024-02-01T00:00:00+00:00",
            "valid_to": "2026-02-01T00:00:00+00:00",
        }.items()
    )
    assert "occurred_at" not in ended
    assert (episode["text"], episode["session_id"]) == ("I moved to Ghent.", "s-1")
    assert reasons("zep", ZEP) == ["not written by the user", "a node: its facts are edges"]
    assert texts("zep", ZEP["edges"]) == ["Anna lives in Ghent.", "Anna lives in Utrecht."]


def test_supermemory_s_containers_are_end_users_and_replaced_entries_are_left_out() -> None:
    note, page, entry = records("supermemory", SUPERMEMORY)

    assert (note["end_user_id"], "tags" in note) == ("user_123", False)
    assert note["metadata"] == {"supermemory": {"customId": "note", "metadata": {"category": "travel"}}}
    assert (page["text"], "end_user_id" in page) == ("A page about trains.", False)
    assert page["tags"] == ["user_123", "project_x"]
    assert entry["text"] == "Works in Antwerp."
    assert reasons("supermemory", SUPERMEMORY) == [
        "not processed there",
        "replaced by a newer version there",
        "forgotten there",
    ]


def test_letta_gives_blocks_line_by_line_messages_and_passages() -> None:
    found = records("letta", LETTA)

    assert [one["text"] for one in found] == ["I prefer trains.", "{not JSON", "Name: Anna", "Works nights."]
    assert found[2]["metadata"] == {"letta": {"block": "human"}}
    assert reasons("letta", LETTA) == [
        "not written by the user",
        "an event, written by no one",
        "the block persona: it describes the agent",
    ]
    assert texts("letta", {"core_memory": LETTA["blocks"]}) == ["Name: Anna", "Works nights."]
    assert texts("letta", {"memory": {"blocks": LETTA["blocks"]}}) == ["Name: Anna", "Works nights."]
    (passage,) = records("letta", LETTA_PASSAGES)
    assert (passage["client_ref"], passage["tags"]) == ("letta:passage-1", ["family"])


@pytest.mark.parametrize(
    "content",
    [
        {"memories": [{"text": "One."}, {"text": "Two."}], "count": 2},
        [{"text": "One."}, {"text": "Two."}],
        b'{"text": "One."}\n\n{"text": "Two."}\n',
        zipped(a__jsonl={"text": "One."}, b__json=[{"text": "Two."}]),
    ],
)
def test_memsync_s_own_records_are_passed_on_as_they_are(content: Any) -> None:
    assert records("memsync", content) == [{"text": "One."}, {"text": "Two."}]


@pytest.mark.parametrize("product", FORMATS)
def test_the_same_item_has_the_same_reference(product: str) -> None:
    contents = {
        "chatgpt": CHATGPT, "claude": CLAUDE_MEMORIES, "mem0": MEM0, "zep": ZEP, "supermemory": SUPERMEMORY,
        "letta": LETTA, "memsync": [{"text": "One.", "client_ref": "1"}],
    }  # fmt: skip

    first = [one["client_ref"] for one in records(product, contents[product])]

    assert first == [one["client_ref"] for one in records(product, contents[product])]
    assert len(set(first)) == len(first) > 0
    assert all(len(one) <= 128 for one in first)


@pytest.mark.parametrize("product", FORMATS)
@pytest.mark.parametrize(
    "wrong",
    [
        [], {}, [[]], [None], [1.5], ["x"], [{}], {"results": [7]}, {"edges": {"a": 1}}, {"memories": None},
        [{"mapping": {"a": {"message": {"author": 1, "content": 2}}, "b": 3}, "current_node": []}],
        [{"mapping": {"a": {"parent": "a", "message": {"author": {"role": "user"}, "content": {"content_type": "text",
          "parts": {"x": 1}}}}}, "current_node": "a"}],
        [{"chat_messages": [1, {"sender": "human", "content": [1], "text": 5}, {"sender": "human", "text": None}]}],
        [{"conversations_memory": 5, "project_memories": [1]}], [{"fact": 1, "invalid_at": {}}],
        [{"content": ["x"], "role_type": 5}], [{"memory": {"a": 1}, "id": [], "user_id": {}, "categories": "x"}],
        [{"content": "x", "containerTags": "x", "createdAt": 1e300}], {"agents": [{"messages": [5, {"role": "user"}]}]},
        {"blocks": [{"label": 5, "value": 7}]}, [{"text": "x", "tags": [5, "a\x00b"], "created_at": "9" * 100}],
    ],
)  # fmt: skip
def test_values_of_other_types_than_documented_end_in_no_exception(product: str, wrong: Any) -> None:
    for one in records(product, wrong):
        json.dumps(one)
        assert product == "memsync" or isinstance(one["text"], str)


@pytest.mark.parametrize("product", FORMATS)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no valid JSON"),
        (b"not json", "no valid JSON"),
        (b'[{"a": 1}', "no valid JSON"),
        (b'[{"memory": "\xff"}]', "no valid JSON"),
        (b'[{"memory": 1' + b"0" * 400 + b"}]", "no valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"memories": ' + b'{"a":' * 5000, "nested too deeply"),
        (b"PK\x03\x04 is no archive", "damaged or encrypted"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(product: str, content: bytes, said: str) -> None:
    with pytest.raises(FileUnreadable, match=said):
        items(product, content)


@pytest.mark.parametrize("product", ["chatgpt", "claude"])
def test_a_zip_bomb_is_refused(product: str) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as entry:
        entry.write(b"[")
        for _ in range(40):
            entry.write(b" " * 1024 * 1024)
        entry.write(b"]")
    assert len(made.getvalue()) < 100_000

    with pytest.raises(FileUnreadable, match="too large when it is unpacked"):
        items(product, made.getvalue())


def test_an_archive_that_is_damaged_inside_or_encrypted_is_refused() -> None:
    content = bytearray(zipped(conversations__json=CHATGPT * 50))
    content[200:260] = bytes(60)
    flagged = bytearray(zipped(conversations__json=[]))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = flagged.index(signature) + offset
        flagged[at : at + 2] = struct.pack("<H", struct.unpack("<H", flagged[at : at + 2])[0] | 1)

    for broken in (bytes(content), bytes(flagged)):
        with pytest.raises(FileUnreadable, match=r"damaged or encrypted|no valid JSON"):
            items("chatgpt", broken)


def test_one_entry_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ELEMENT", 1000)

    with pytest.raises(FileUnreadable, match="one entry"):
        items("mem0", [{"memory": "x" * 2000}])


def test_a_text_beyond_the_limit_is_left_out() -> None:
    assert reasons("mem0", [{"memory": "x" * 100_001}]) == ["longer than 100,000 characters"]


def test_notes_are_read_line_by_line_without_headings() -> None:
    text = "# Top\n**Work**\n**Work:**\n- One.\n* Two.\n\n**Bold** start.\n---\n"

    assert list(lines_of_notes(text)) == ["One.", "Two.", "**Bold** start."]


@pytest.fixture
def dry_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Previews a file where no server runs: exit code, output and errors."""
    monkeypatch.setenv("MEMSYNC_HOME", str(tmp_path / "nothing"))

    def run(product: str, content: bytes, *arguments: str) -> tuple[int, str, str]:
        file = tmp_path / "file"
        file.write_bytes(content)
        code = commands.main(["import", "--from", product, str(file), "--dry-run", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_a_preview_needs_no_server(dry_run: Callable[..., tuple[int, str, str]]) -> None:
    code, shown, errors = dry_run("zep", json.dumps(ZEP).encode(), "--samples", "1", "--end-user", "anna")

    assert (code, errors) == (0, "")
    assert shown.splitlines() == [
        "3 records, from 2024-02-01 to 2026-02-03",
        "  1 × fact",
        "  1 × fact that had ended",
        "  1 × message",
        "  3 name no end user: they go to anna",
        "2 left out",
        "  1 × not written by the user",
        "  1 × a node: its facts are edges",
        "sample 1: Anna lives in Ghent.",
    ]
    assert json.loads(dry_run("mem0", json.dumps(MEM0).encode(), "--json")[1])["end_users"] == {"alice": 1, "bob": 1}


def test_what_steers_a_terminal_is_not_printed(dry_run: Callable[..., tuple[int, str, str]]) -> None:
    hostile = [{"memory": "Lives in \x1b[2J\x1b]0;title\x07Ghent.", "user_id": "a\u202e"}]

    shown = dry_run("mem0", json.dumps(hostile).encode())[1]

    assert "\x1b" not in shown
    assert "sample 1: Lives in �[2J�]0;title�Ghent." in shown


@pytest.mark.parametrize(
    ("product", "content", "said"),
    [
        ("mem0", b"{}", "holds nothing to import: expected the JSON of get_all"),
        ("chatgpt", zipped(user__json={}), "holds nothing to import: expected the ZIP of an export"),
        ("claude", b"PK\x03\x04", "cannot be read: the archive is damaged or encrypted"),
    ],
)
def test_a_file_of_something_else_is_refused_with_what_was_expected(
    dry_run: Callable[..., tuple[int, str, str]], product: str, content: bytes, said: str
) -> None:
    code, _, errors = dry_run(product, content)

    assert code == 1
    assert said in errors
    assert errors.count("\n") == 1


def test_a_preview_counts_what_would_be_added_and_what_is_left_out() -> None:
    found = preview(iter(items("mem0", MEM0)), samples=1).body()

    assert found["records"] == 2
    assert found["kinds"] == {"memory": 2}
    assert found["skipped"] == {"no text": 1}
    assert found["end_users"] == {"alice": 1, "bob": 1}
    assert (found["first"], found["last"]) == ("2026-02-14T18:30:00+00:00", "2026-02-14T18:30:00+00:00")
    assert [one["client_ref"] for one in found["samples"]] == ["mem0:a1b2"]
