"""DOCX by python-docx: paragraphs and tables in order, without headers and footers; macros are ignored."""

import io
from collections.abc import Iterator

from docx import Document
from docx.table import Table

from apps.adapters.documents.limits import MAX_CELLS
from apps.adapters.documents.refusals import DocumentTooLarge


def read(content: bytes) -> Iterator[str]:
    met = 0
    for block in Document(io.BytesIO(content)).iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                # ``row.cells`` repeats a cell by its declared width, which may be millions.
                met += sum(max(1, cell.grid_span) for cell in row._tr.tc_lst)
                if met > MAX_CELLS:
                    raise DocumentTooLarge
                yield " | ".join(dict.fromkeys(cell.text.strip() for cell in row.cells))
        else:
            yield block.text
