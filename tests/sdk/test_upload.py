"""``upload`` of the published client."""

import pytest
from memorysync import AddSkippedResponse, Memory, MemorySyncError, ValidationError

from tests import once
from tests.adapters import sample_files as files
from tests.adapters.sample_files import FACT
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def test_uploaded_file_is_stored_with_what_is_said_of_it_and_found(make: Make) -> None:
    memory = make().upload(
        files.docx(FACT), filename="house.docx", source="files", metadata={"folder": "house"}, end_user_id="bob"
    )

    assert isinstance(memory, Memory)
    assert memory.text == FACT
    assert memory.source == "files"
    assert memory.metadata == {"folder": "house", "filename": "house.docx"}
    assert make().query("Where is the boiler room key?", k=1).memories == []


def test_file_with_nothing_to_keep_is_a_skip(make: Make) -> None:
    skipped = make().upload(b"  \n ", filename="blank.txt")

    assert isinstance(skipped, AddSkippedResponse)
    assert skipped.reason == "no_extractable_text"


def test_file_that_is_not_read_is_refused_with_its_reason(make: Make) -> None:
    with pytest.raises(ValidationError, match="password"):
        make().upload(files.pdf(FACT, password="x"), filename="a.pdf")
    with pytest.raises(MemorySyncError, match="not read") as refused:
        make().upload(bytes.fromhex("89504e470d0a1a0a") + bytes(50), filename="a.png")
    assert refused.value.status_code == 415
