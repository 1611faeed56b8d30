"""What every key provider promises, whatever stands behind it."""

import base64
import dataclasses
import hashlib
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import KeyMismatch, KeyShared, KeyUnavailable, Wrapped, bound
from apps.adapters.kms.fake import FakeKms
from tests.contracts.key_providers import CTX, KEY, Case, case_of

OPENING = """
import base64, hashlib, json, os, sys
from django.utils.module_loading import import_string
from apps.adapters.kms.base import Wrapped

told = json.load(sys.stdin)
provider = import_string(told["BACKEND"])(**told["OPTIONS"])
wrapped = Wrapped(told["provider"], told["ref"], told["version"], base64.b64decode(told["blob"]))

def opened():
    return hashlib.sha256(provider.unwrap(wrapped, told["ctx"])).hexdigest()
"""
ANOTHER_PROCESS = f"{OPENING}\nprint(opened())"
# Without threads of others, as a server before its workers: a child of one that has some may wait forever for what they
# held.
FORKING_PROCESS = f"""{OPENING}
first = opened()
child = os.fork()
later = []
try:
    later += [opened() for _ in range(3)]
finally:
    if child == 0:
        os._exit(0 if later == [first] * 3 else 1)
print(*later, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(params=["local", "fake", "vault", "aws", "gcp"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    with case_of(request.param, tmp_path) as made:
        yield made


def every_call(case: Case, wrapped: Wrapped) -> list[Callable[[], Any]]:
    return [
        lambda: case.provider.wrap(KEY, CTX),
        lambda: case.provider.unwrap(wrapped, CTX),
        lambda: case.provider.rewrap(wrapped, CTX),
        case.provider.current_version,
        case.provider.health,
    ]


def test_wrapped_key_comes_back(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    unwrapped = case.provider.unwrap(wrapped, CTX)

    assert unwrapped == KEY
    assert isinstance(unwrapped, bytearray)
    assert wrapped.provider == case.provider.name
    assert wrapped.version == case.provider.current_version()
    assert KEY not in wrapped.blob


def test_key_of_no_tenant_comes_back(case: Case) -> None:
    ctx = {**CTX, "p": "service-pepper", "t": ""}

    assert case.provider.unwrap(case.provider.wrap(KEY, ctx), ctx) == KEY


def test_wrapping_twice_gives_unrelated_blobs(case: Case) -> None:
    assert case.provider.wrap(KEY, CTX).blob != case.provider.wrap(KEY, CTX).blob


@pytest.mark.parametrize(
    "change",
    [{"t": "globex"}, {"t": ""}, {"v": "2"}, {"d": "elsewhere"}, {"p": "tenant-identity"}, {"extra": ""}],
    ids=["tenant", "no tenant", "version", "deployment", "purpose", "extra"],
)
def test_another_context_is_refused(case: Case, change: dict[str, str]) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for call in (case.provider.unwrap, case.provider.rewrap):
        with pytest.raises(KeyMismatch) as caught:
            call(wrapped, {**CTX, **change})
        assert caught.value.permanent


def test_context_with_a_part_left_out_is_refused(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for name in CTX:
        with pytest.raises(KeyMismatch):
            case.provider.unwrap(wrapped, {other: value for other, value in CTX.items() if other != name})


def test_context_parts_cannot_be_shifted() -> None:
    assert bound({"a": "bc"}) != bound({"ab": "c"})
    assert bound({"a": "b"}, "c") != bound({"c": "a"}, "b")


def test_truncated_blob_is_refused(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for size in range(len(wrapped.blob)):
        with pytest.raises(KeyMismatch):
            case.provider.unwrap(dataclasses.replace(wrapped, blob=wrapped.blob[:size]), CTX)


def test_lengthened_blob_is_refused(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for blob in (wrapped.blob + b"\0", b"\0" + wrapped.blob, wrapped.blob * 2, wrapped.blob * 100):
        with pytest.raises(KeyMismatch):
            case.provider.unwrap(dataclasses.replace(wrapped, blob=blob), CTX)


def test_flipped_bit_is_refused(case: Case) -> None:
    """All bits where that is quick; over HTTP one of each byte, another one from byte to byte."""
    wrapped = case.provider.wrap(KEY, CTX)
    step = 1 if case.provider.name in ("local", "fake") else 9

    for position in range(0, len(wrapped.blob) * 8, step):
        changed = bytearray(wrapped.blob)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(KeyMismatch):
            case.provider.unwrap(dataclasses.replace(wrapped, blob=bytes(changed)), CTX)


def test_old_version_still_unwraps(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    added = case.add_version()

    assert added == case.provider.current_version() != wrapped.version
    assert case.provider.unwrap(wrapped, CTX) == KEY
    assert case.provider.wrap(KEY, CTX).version == added


def test_old_version_that_was_closed_is_unavailable(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.add_version()

    case.forbid_first_version()

    for call in (case.provider.unwrap, case.provider.rewrap):
        with pytest.raises(KeyUnavailable):
            call(wrapped, CTX)


def test_rewrap_moves_to_the_current_version(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    added = case.add_version()

    rewrapped = case.provider.rewrap(wrapped, CTX)

    assert (rewrapped.provider, rewrapped.ref) == (wrapped.provider, wrapped.ref)
    assert rewrapped.version == added
    assert rewrapped.blob != wrapped.blob
    assert case.provider.unwrap(rewrapped, CTX) == KEY


def test_rewrap_refuses_what_unwrap_refuses(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    changed = wrapped.blob[:-1] + bytes([wrapped.blob[-1] ^ 1])
    refused = (KeyMismatch, KeyUnavailable)

    for wrong, reasons in (
        (dataclasses.replace(wrapped, blob=changed), KeyMismatch),
        (dataclasses.replace(wrapped, blob=b""), KeyMismatch),
        (dataclasses.replace(wrapped, ref="elsewhere"), KeyMismatch),
        (dataclasses.replace(wrapped, version="9"), refused),
    ):
        with pytest.raises(reasons):
            case.provider.rewrap(wrong, CTX)


def test_blob_does_not_open_as_another_version(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    added = case.add_version()

    with pytest.raises(KeyMismatch):
        case.provider.unwrap(dataclasses.replace(wrapped, version=added), CTX)


@pytest.mark.parametrize("version", ["9", "0", "-1", "", "1:", "١", "../1", "9" * 400])
def test_unknown_version_is_refused(case: Case, version: str) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    with pytest.raises((KeyUnavailable, KeyMismatch)) as caught:
        case.provider.unwrap(dataclasses.replace(wrapped, version=version), CTX)
    assert caught.type is KeyUnavailable or version != "9" or not case.knows_versions


def test_key_of_another_provider_is_refused(case: Case) -> None:
    with pytest.raises(KeyMismatch):
        case.provider.unwrap(case.another().wrap(KEY, CTX), CTX)
    with pytest.raises(KeyMismatch):
        case.provider.unwrap(Wrapped("elsewhere", "key", "1", bytes(60)), CTX)


def test_provider_that_is_down_says_so(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.provider.health()

    case.take_down()

    for call in every_call(case, wrapped):
        with pytest.raises(KeyUnavailable) as caught:
            call()
        assert not caught.value.permanent


def test_provider_that_is_back_works_without_a_restart(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.take_down()
    with pytest.raises(KeyUnavailable):
        case.provider.unwrap(wrapped, CTX)

    case.bring_up()

    for call in every_call(case, wrapped):
        call()


def test_provider_that_was_down_at_the_start_works_when_it_is_up(case: Case) -> None:
    case.take_down()
    with pytest.raises(KeyUnavailable):
        case.provider.health()

    case.bring_up()

    case.provider.health()


def run(program: str, case: Case, wrapped: Wrapped) -> subprocess.CompletedProcess[str]:
    told = dataclasses.asdict(wrapped) | {"blob": base64.b64encode(wrapped.blob).decode(), "ctx": CTX} | case.setting()
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=json.dumps(told), capture_output=True, text=True, timeout=60, check=False)


def test_another_process_opens_what_this_one_wrapped(case: Case) -> None:
    said = run(ANOTHER_PROCESS, case, case.provider.wrap(KEY, CTX))

    assert said.stdout.split() == [hashlib.sha256(KEY).hexdigest()], said.stderr


def test_forked_child_and_its_parent_both_go_on(case: Case) -> None:
    said = run(FORKING_PROCESS, case, case.provider.wrap(KEY, CTX))

    assert said.stdout.split() == [*[hashlib.sha256(KEY).hexdigest()] * 3, "0"], said.stderr


@pytest.mark.parametrize("case", ["local", "vault", "aws", "gcp"], indirect=True)
def test_shared_key_is_not_destroyed_for_one_tenant(case: Case) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    with pytest.raises(KeyShared) as caught:
        case.provider.destroy(wrapped.ref)

    assert caught.value.permanent
    assert case.provider.unwrap(wrapped, CTX) == KEY


def test_destroyed_key_of_one_tenant_opens_nothing() -> None:
    fake = FakeKms()
    wrapped = fake.wrap(KEY, CTX)

    fake.destroy(wrapped.ref)

    with pytest.raises(KeyUnavailable):
        fake.unwrap(wrapped, CTX)


def test_no_key_is_told_in_errors_logs_or_names(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrapped = case.provider.wrap(KEY, CTX)
    changed = dataclasses.replace(wrapped, blob=wrapped.blob[:-1] + bytes([wrapped.blob[-1] ^ 1]))
    errors: list[BaseException] = []
    for call in (
        lambda: case.provider.unwrap(changed, CTX),
        lambda: case.provider.unwrap(wrapped, {**CTX, "t": "globex"}),
        lambda: case.provider.unwrap(dataclasses.replace(wrapped, ref="elsewhere"), CTX),
        case.take_down,
        *every_call(case, wrapped),
    ):
        try:
            call()
        except AdapterError as error:
            errors.append(error)
    case.bring_up()
    case.provider.rewrap(wrapped, CTX)

    told = [caplog.text, repr(case.provider), *(str(vars(record)) for record in caplog.records)]
    for error in errors:
        # An error of the client library in the chain would bring its request along, whose body holds the key.
        assert error.__cause__ is None or isinstance(error.__cause__, OSError)
        told += [str(error), repr(error), str(vars(error)), "".join(traceback.format_exception(error))]
    assert len(errors) >= 5
    for form in forms(KEY):
        assert not any(form in text for text in told)


def test_client_libraries_errors_do_not_travel_along(case: Case) -> None:
    """Their requests hang on them, and an error reporter would take them apart."""
    case.take_down()

    with pytest.raises(KeyUnavailable) as caught:
        case.provider.wrap(KEY, CTX)

    seen: BaseException | None = caught.value
    while seen is not None:
        assert not hasattr(seen, "request")
        seen = seen.__context__


def forms(key: bytes) -> list[str]:
    return [key.hex(), base64.b64encode(key).decode(), repr(key)[2:-1], repr(list(key))[1:-1], key.decode()]
