"""What people say gets out nowhere: canaries through every door of a real instance, and a search of all it keeps."""

import os

import pytest

from tests.canaries.canary import ENCODINGS, Family, encoded
from tests.canaries.sweep import sweep

COUNT = int(os.environ.get("CANARIES", "100"))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_canary_is_found_in_each_encoding_in_the_midst_of_noise(encoding: str) -> None:
    family, noise = Family(), os.urandom(20_000)

    for raw in encoded(family.take("here"))[encoding]:
        assert encoding in {found for _, found in family.found(noise + raw + noise)}
        assert family.found(noise + raw.hex().encode() + noise), "as a dump shows bytes"


def test_noise_and_other_families_are_not_taken_for_one() -> None:
    other = Family().take("elsewhere")

    assert Family().found(os.urandom(1_000_000) + other.encode()) == set()


@pytest.mark.e2e
@pytest.mark.skipif("CANARIES" not in os.environ, reason="the whole sweep is for scripts/nightly; CANARIES=100 runs it")
def test_nothing_that_was_said_is_found_anywhere_and_all_that_was_planted_is() -> None:
    found = sweep(COUNT)

    assert found["canaries"] >= COUNT
    assert {sink["name"]: sink["hits"] for sink in found["sinks"] if sink["hits"]} == {}
    assert found["missed"] == []
    assert len([sink for sink in found["sinks"] if sink["bytes"]]) >= 10
    assert {200, 201, 400, 401, 404, 415, 422, 500, 503} <= found["statuses"].keys()
