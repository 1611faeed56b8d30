"""The memory tool against the tests of Anthropic's tool over files."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import MakeClient, WaitFor
from tests.frameworks.judges import installed, published

installed("anthropic")

from memsync_adapters import Client  # noqa: E402
from memsync_adapters.anthropic_memory import AsyncMemsyncMemoryTool, MemsyncMemoryTool  # noqa: E402

pytestmark = pytest.mark.e2e

judge = published("anthropic", "tests.lib.tools.memory_tools.test_filesystem")


def generic(kind: Any) -> list[str]:
    """Their tests of any tool: those that take nothing but the tool.  The others make directories and links on disk."""
    tests = [(name, one) for name, one in vars(kind).items() if name.startswith("test_")]
    return [name for name, one in tests if set(inspect.signature(one).parameters) - {"self"} in TOOL]


TOOL = ({"sync_local_filesystem_tool"}, {"async_local_filesystem_tool"})
# 5 MB of text are more than a request may have.
TOO_LARGE = "test_view_error_for_files_with_too_many_lines"
SYNC, ASYNC = judge.TestBetaLocalFilesystemMemoryTool, judge.TestBetaAsyncLocalFilesystemMemoryTool


@pytest.fixture(autouse=True)
def _snapshots_are_of_the_server(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(base_path: str) -> dict[str, str]:
        files = client.run(MemsyncMemoryTool(client).files.state.find_all())
        return {"/".join([*one["namespace"], one["key"]]): one["value"]["text"] for one in files}

    monkeypatch.setattr(judge, "get_directory_snapshot", snapshot)


def with_a_path(tool: Any) -> Any:
    tool.base_path = Path("unused")
    return tool


def test_judge_has_as_many_tests_as_were_passed() -> None:
    assert len(generic(SYNC)) == len(generic(ASYNC)) == 27


@pytest.mark.parametrize("name", sorted({*generic(SYNC)} - {TOO_LARGE}))
def test_their_tests_of_the_blocking_tool(name: str, client: Client) -> None:
    getattr(SYNC(), name)(with_a_path(MemsyncMemoryTool(client)))


@pytest.mark.parametrize("name", sorted({*generic(ASYNC)} - {TOO_LARGE}))
def test_their_tests_of_the_asynchronous_tool(name: str, client: Client, wait_for: WaitFor) -> None:
    wait_for(getattr(ASYNC(), name)(with_a_path(AsyncMemsyncMemoryTool(client))))


def call(client: Client, command: str, **fields: Any) -> Any:
    return MemsyncMemoryTool(client).call({"command": command, **fields})


def test_directories_are_listed_two_levels_deep_with_sizes(client: Client) -> None:
    for path, text in {"a.txt": "four", "d/b.txt": "x" * 2048, "d/e/f.txt": "", ".hidden": "h", "d/e/g/h": "y"}.items():
        call(client, "create", path=f"/memories/{path}", file_text=text)

    assert call(client, "view", path="/memories").split("\n")[1:] == [
        "2.0K\t/memories",
        "4B\t/memories/a.txt",
        "2.0K\t/memories/d/",
        "2K\t/memories/d/b.txt",
        "1B\t/memories/d/e/",
    ]
    assert call(client, "view", path="/memories/d/e").split("\n")[1:] == [
        "1B\t/memories/d/e",
        "0B\t/memories/d/e/f.txt",
        "1B\t/memories/d/e/g/",
        "1B\t/memories/d/e/g/h",
    ]


def test_directories_are_renamed_and_cleared(client: Client) -> None:
    call(client, "create", path="/memories/d/e/f.txt", file_text="f")

    call(client, "rename", old_path="/memories/d", new_path="/memories/z")

    assert "     1\tf" in call(client, "view", path="/memories/z/e/f.txt")
    with pytest.raises(Exception, match="The path /memories/d does not exist"):
        call(client, "view", path="/memories/d")
    assert MemsyncMemoryTool(client).clear_all_memory() == "All memory cleared"
    assert call(client, "view", path="/memories").endswith("0B\t/memories")


def test_what_is_too_large_is_refused_in_words(client: Client) -> None:
    with pytest.raises(Exception, match="too large"):
        call(client, "create", path="/memories/huge.txt", file_text="line\n" * 1_200_000)


def test_end_users_have_files_of_their_own(make_client: MakeClient) -> None:
    call(make_client(), "create", path="/memories/a", file_text="mine")

    assert call(make_client(), "view", path="/memories").endswith("0B\t/memories")
