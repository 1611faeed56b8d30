"""XLSX by openpyxl: values as last computed; formulas, macros and linked workbooks are ignored."""

import io
from collections.abc import Iterator

from openpyxl import load_workbook

from apps.adapters.documents.limits import MAX_PAGES
from apps.adapters.documents.readers.tables import lines
from apps.adapters.documents.refusals import DocumentTooLarge


def read(content: bytes) -> Iterator[str]:
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False, keep_vba=False)
    if len(book.worksheets) > MAX_PAGES:
        raise DocumentTooLarge
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the file's declared dimensions are not trusted
        yield from lines(sheet.iter_rows(values_only=True))
