"""Parses a form with one file in memory: uploads are never written to disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any, ClassVar, Final, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from rest_framework.parsers import BaseParser

from apps.core.errors import Malformed, TooLarge

LATIN_1: Final = "latin-1"
OVERHEAD: Final = 64 * 1024  # bytes of a form besides its file


class NotAForm(Malformed):
    """The body is not a valid multipart form with at most one file."""

    code = "INVALID_FORM"


class BodyCut(Malformed):
    """The form is incomplete: a part of the body is missing."""

    code = "BODY_CUT"


@dataclass(frozen=True, slots=True)
class SentFile:
    """The file of a form.  name: the caller's, without directories."""

    name: str
    content: bytes = field(repr=False)


class FormParser(BaseParser):
    """One form: text parts by name, and the file under ``file``.  Raises TooLarge or NotAForm."""

    media_type = "multipart/form-data"
    max_bytes_setting: ClassVar = "MAX_UPLOAD_BYTES"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        request = (parser_context or {})["request"]
        limit: int = getattr(settings, self.max_bytes_setting)
        announced = str(request.META.get("CONTENT_LENGTH") or "")
        if announced.isdecimal() and int(announced) > limit + OVERHEAD:
            raise TooLarge(f"The file is larger than {limit} bytes.")
        handler, counted = _InMemory(limit), _Counted(stream)
        try:
            # Django would replace invalid UTF-8; Latin-1 preserves every byte, so that invalid UTF-8 is refused below.
            fields, _ = _Latin1Parser(request.META, cast(Any, counted), [handler], LATIN_1).parse()
            form: dict[str, Any] = {name: _as_utf8(str(fields[name])) for name in fields}
        except (MultiPartParserError, TooManyFieldsSent, TooManyFilesSent, UnicodeError):
            raise NotAForm from None
        except RequestDataTooBig:
            raise TooLarge from None
        if announced.isdecimal() and counted.bytes_read < int(announced):
            raise BodyCut
        # Django accepts a form without its closing boundary, and so a truncated file.
        if counted.bytes_read and not counted.tail.rstrip().endswith(b"--"):
            raise BodyCut
        if handler.file is not None:
            form["file"] = handler.file
        return form


class ImportFormParser(FormParser):
    max_bytes_setting = "MAX_IMPORT_BYTES"


class _Latin1Parser(MultiPartParser):
    """Reads text as Latin-1.  The file's name is read as UTF-8 before Django removes characters from it."""

    def sanitize_file_name(self, file_name: str) -> str | None:
        return super().sanitize_file_name(_as_utf8(file_name))


def _as_utf8(text: str) -> str:
    """What was read as Latin-1.  Raises UnicodeError."""
    return text.encode(LATIN_1).decode()


class _Counted:
    """Wraps a stream; records how many bytes were read, and the last of them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.bytes_read = 0
        self.tail = b""

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self.bytes_read += len(piece)
        self.tail = (self.tail + piece[-8:])[-8:]
        return piece


class _InMemory(FileUploadHandler):
    """Upload handler that keeps the form's one file in memory, up to a limit."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.file: SentFile | None = None
        self._pieces = BytesIO()

    def new_file(self, field_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, *args, **kwargs)
        if field_name != "file" or self.file is not None:
            raise NotAForm('The form holds one file, in the part named "file".')

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if start + len(raw_data) > self.limit:
            raise TooLarge(f"The file is larger than {self.limit} bytes.")
        self._pieces.write(raw_data)

    def file_complete(self, file_size: int) -> None:
        self.file = SentFile(self.file_name or "", self._pieces.getvalue())
