"""The memory tool against the tests of Anthropic's tool over files."""

import inspect
from typing import Any, Final

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import WaitFor, assert_passes, installed, published

installed("anthropic")

from memsync_adapters import Client  # noqa: E402
from memsync_adapters.anthropic_memory import AsyncMemsyncMemoryTool, MemsyncMemoryTool  # noqa: E402

pytestmark = pytest.mark.e2e

judge = published("anthropic", "tests.lib.tools.memory_tools.test_filesystem")


TOOL: Final = ({"sync_local_filesystem_tool"}, {"async_local_filesystem_tool"})
OF_DISKS: Final = ("symlink", "umask")
# 5 MB of text are more than a request may have.
TOO_LARGE: Final = "test_view_error_for_files_with_too_many_lines"
SYNC, ASYNC = judge.TestBetaLocalFilesystemMemoryTool, judge.TestBetaAsyncLocalFilesystemMemoryTool


def generic(kind: Any) -> list[str]:
    """Their tests of any tool.  The others take a directory, or are about links and permissions on disk."""
    tests = {name: one for name, one in vars(kind).items() if name.startswith("test_")}
    takes = {name: set(inspect.signature(one).parameters) - {"self"} for name, one in tests.items()}
    return [name for name in tests if takes[name] in TOOL and not any(word in name for word in OF_DISKS)]


class Root:
    """What their tests take for a directory on disk, over the files of the server."""

    def __init__(self, client: Client, name: str = "") -> None:
        self.client, self.name, self.state = client, name, MemsyncMemoryTool(client).files.state

    def __truediv__(self, name: str) -> "Root":
        return Root(self.client, name)

    def mkdir(self, **_: Any) -> None:
        pass

    def write_bytes(self, content: bytes) -> None:
        self.client.run(self.state.put(["memories"], self.name, {"text": content.decode()}))

    def read_bytes(self) -> bytes:
        item = self.client.run(self.state.get(["memories"], self.name))
        assert item is not None
        return str(item["value"]["text"]).encode()


@pytest.fixture(autouse=True)
def _disk_is_the_server(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(base_path: str) -> dict[str, str]:
        files = client.run(MemsyncMemoryTool(client).files.state.find_all())
        return {"/".join([*one["namespace"], one["key"]]): one["value"]["text"] for one in files}

    monkeypatch.setattr(judge, "get_directory_snapshot", snapshot)
    monkeypatch.setattr(judge, "Path", lambda _: Root(client))


def on_disk(tool: Any) -> Any:
    """The tool, with the attributes that their tests look at."""
    tool.base_path, tool.memory_root = "unused", Root(tool.client)
    return tool


def test_judge_has_as_many_tests_as_were_passed() -> None:
    assert len(generic(SYNC)) == len(generic(ASYNC)) == 29
    assert TOO_LARGE in generic(SYNC)


@pytest.mark.parametrize("name", sorted({*generic(SYNC)} - {TOO_LARGE}))
def test_their_tests_of_the_blocking_tool(name: str, client: Client) -> None:
    assert_passes(getattr(SYNC(), name), on_disk(MemsyncMemoryTool(client)))


@pytest.mark.parametrize("name", sorted({*generic(ASYNC)} - {TOO_LARGE}))
def test_their_tests_of_the_asynchronous_tool(name: str, client: Client, wait_for: WaitFor) -> None:
    assert_passes(getattr(ASYNC(), name), on_disk(AsyncMemsyncMemoryTool(client)), wait_for=wait_for)


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


def test_nothing_is_below_a_file_or_within_itself(client: Client) -> None:
    for path in ("a.txt", "d/b.txt"):
        call(client, "create", path=f"/memories/{path}", file_text="x")

    with pytest.raises(Exception, match=r"/memories/a\.txt is not a directory"):
        call(client, "create", path="/memories/a.txt/b/c", file_text="x")
    for old in ("d", "a.txt"):
        with pytest.raises(Exception, match="within itself"):
            call(client, "rename", old_path=f"/memories/{old}", new_path=f"/memories/{old}/inner")
    with pytest.raises(Exception, match=r"/memories/d/b\.txt is not a directory"):
        call(client, "rename", old_path="/memories/a.txt", new_path="/memories/d/b.txt/a")

    files = client.run(MemsyncMemoryTool(client).files.state.find_all())
    assert sorted(item["key"] for item in files) == ["a.txt", "b.txt"]


def test_what_is_too_large_is_refused_in_words(client: Client) -> None:
    with pytest.raises(Exception, match="too large"):
        call(client, "create", path="/memories/huge.txt", file_text="line\n" * 1_200_000)


def test_end_users_have_files_of_their_own(make_client: MakeClient) -> None:
    call(make_client(), "create", path="/memories/a", file_text="mine")

    assert call(make_client(), "view", path="/memories").endswith("0B\t/memories")
