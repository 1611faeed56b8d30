"""What every key provider promises, and what the local one promises besides."""

import dataclasses
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import pytest

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import KekProvider, KeyMismatch, KeyUnavailable, Wrapped, bound
from apps.adapters.kms.fake import FakeKms
from apps.adapters.kms.local import KeyringFileExists, LocalKeyring

KEY = bytes(range(32))
CTX = {"p": "tenant-root", "t": "acme", "v": "1", "d": "test"}


class Case(Protocol):
    """A provider whose key can be rotated and whose service can be taken away."""

    provider: KekProvider

    def add_version(self) -> str: ...

    def take_down(self) -> None: ...

    def another(self) -> KekProvider: ...


@dataclasses.dataclass
class Local:
    folder: Path

    def __post_init__(self) -> None:
        self.path = self.folder / "kek.json"
        self.provider: KekProvider = LocalKeyring.create(self.path)

    def add_version(self) -> str:
        return LocalKeyring(path=self.path).add_version()

    def take_down(self) -> None:
        self.path.unlink()

    def another(self) -> KekProvider:
        return LocalKeyring.create(self.folder / "another.json")


class Fake:
    def __init__(self) -> None:
        self.fake = FakeKms()
        self.provider: KekProvider = self.fake

    def add_version(self) -> str:
        return self.fake.add_version()

    def take_down(self) -> None:
        self.fake.down = True

    def another(self) -> KekProvider:
        return FakeKms(seed="another")


@pytest.fixture(params=["local", "fake"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Local(tmp_path) if request.param == "local" else Fake()


def test_wrapped_key_comes_back(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    assert case.provider.unwrap(wrapped, CTX) == KEY
    assert wrapped.provider == case.provider.name
    assert wrapped.version == case.provider.current_version()
    assert KEY not in wrapped.blob


def test_wrapping_twice_gives_unrelated_blobs(case: Case) -> None:
    assert case.provider.wrap(KEY, CTX).blob != case.provider.wrap(KEY, CTX).blob


@pytest.mark.parametrize(
    "change",
    [{"t": "globex"}, {"v": "2"}, {"d": "elsewhere"}, {"p": "tenant-identity"}, {"extra": ""}],
    ids=["tenant", "version", "deployment", "purpose", "extra"],
)
def test_another_context_is_refused(case: Case, change: dict[str, str]) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    with pytest.raises(KeyMismatch) as caught:
        case.provider.unwrap(wrapped, {**CTX, **change})
    assert caught.value.permanent


def test_context_parts_cannot_be_shifted() -> None:
    assert bound({"a": "bc"}) != bound({"ab": "c"})
    assert bound({"a": "b"}, "c") != bound({"c": "a"}, "b")


def test_truncated_blob_is_refused(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for size in range(len(wrapped.blob)):
        with pytest.raises(KeyMismatch):
            case.provider.unwrap(dataclasses.replace(wrapped, blob=wrapped.blob[:size]), CTX)


def test_every_flipped_bit_is_refused(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for position in range(len(wrapped.blob) * 8):
        changed = bytearray(wrapped.blob)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(KeyMismatch):
            case.provider.unwrap(dataclasses.replace(wrapped, blob=bytes(changed)), CTX)


def test_old_version_still_unwraps(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    added = case.add_version()

    assert added == case.provider.current_version() != wrapped.version
    assert case.provider.unwrap(wrapped, CTX) == KEY


def test_rewrap_moves_to_the_current_version(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    added = case.add_version()

    rewrapped = case.provider.rewrap(wrapped, CTX)

    assert rewrapped.version == added
    assert case.provider.unwrap(rewrapped, CTX) == KEY
    with pytest.raises(KeyMismatch):
        case.provider.rewrap(wrapped, {**CTX, "t": "globex"})


def test_blob_does_not_open_as_another_version(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    added = case.add_version()

    with pytest.raises(KeyMismatch):
        case.provider.unwrap(dataclasses.replace(wrapped, version=added), CTX)


def test_unknown_version_is_unavailable(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    with pytest.raises(KeyUnavailable):
        case.provider.unwrap(dataclasses.replace(wrapped, version="9"), CTX)


def test_key_of_another_provider_is_refused(case: Case) -> None:
    with pytest.raises(KeyMismatch):
        case.provider.unwrap(case.another().wrap(KEY, CTX), CTX)
    with pytest.raises(KeyMismatch):
        case.provider.unwrap(Wrapped("elsewhere", "key", "1", bytes(60)), CTX)


def test_provider_that_is_down_says_so(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.provider.health()

    case.take_down()

    for call in (
        lambda: case.provider.wrap(KEY, CTX),
        lambda: case.provider.unwrap(wrapped, CTX),
        lambda: case.provider.rewrap(wrapped, CTX),
        case.provider.current_version,
        case.provider.health,
    ):
        with pytest.raises(KeyUnavailable) as caught:
            call()
        assert not caught.value.permanent


def test_provider_that_is_slow_is_given_up_on() -> None:
    fake = FakeKms(timeout_seconds=2)
    wrapped = fake.wrap(KEY, CTX)

    fake.answers_after_seconds = 1.9
    assert fake.unwrap(wrapped, CTX) == KEY

    fake.answers_after_seconds = 2.1
    with pytest.raises(KeyUnavailable):
        fake.unwrap(wrapped, CTX)
    assert fake.calls == {"wrap": 1, "unwrap": 2}


def test_destroyed_key_of_one_tenant_opens_nothing() -> None:
    fake = FakeKms()
    wrapped = fake.wrap(KEY, CTX)

    fake.destroy(wrapped.ref)

    with pytest.raises(KeyUnavailable):
        fake.unwrap(wrapped, CTX)


# --- the local keyring's file ---------------------------------------------------------------------------------------


def test_shared_local_key_is_not_destroyed(tmp_path: Path) -> None:
    with pytest.raises(AdapterError):
        LocalKeyring.create(tmp_path / "kek.json").destroy("local")


def test_local_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kek.json"
    ring = LocalKeyring.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    ring.add_version()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["kek.json"]


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o602, 0o666, 0o610])
def test_local_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    ring = LocalKeyring.create(tmp_path / "kek.json")
    (tmp_path / "kek.json").chmod(mode)

    with pytest.raises(KeyUnavailable, match="chmod 600"):
        ring.health()


def test_local_file_is_never_replaced_by_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "kek.json"
    wrapped = LocalKeyring.create(path).wrap(KEY, CTX)

    with pytest.raises(KeyringFileExists):
        LocalKeyring.create(path)

    assert LocalKeyring(path=path).unwrap(wrapped, CTX) == KEY
    assert [entry.name for entry in tmp_path.iterdir()] == ["kek.json"]


def test_of_many_who_create_the_local_file_one_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "kek.json"

    def create(_: int) -> bool:
        try:
            LocalKeyring.create(path).health()
        except KeyringFileExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["kek.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"ref": "r", "current": "1", "keys": {}}',
        '{"ref": "r", "current": "1", "keys": []}',
        '{"ref": "r", "current": "1", "keys": {"1": "short"}}',
        '{"ref": "r", "current": "1", "keys": {"1": "c2hvcnQ="}}',
    ],
)
def test_damaged_local_file_is_refused_without_quoting_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "kek.json"
    path.touch(mode=0o600)
    path.write_text(content)

    with pytest.raises(KeyUnavailable) as caught:
        LocalKeyring(path=path).health()
    assert "backup" in str(caught.value)
    assert caught.value.__cause__ is None


def test_local_keys_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "kek.json"
    ring = LocalKeyring.create(path)
    key = json.loads(path.read_text())["keys"]["1"]

    assert key not in repr(ring._load())
    assert key not in repr(ring)
