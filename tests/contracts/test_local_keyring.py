"""What the local key provider promises besides: a file that is its owner's alone and is never lost."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apps.adapters.kms.base import KeyUnavailable
from apps.adapters.kms.local import KeyringFileExists, LocalKeyring
from tests.contracts.key_providers import CTX, KEY


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
