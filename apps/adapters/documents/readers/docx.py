"""DOCX by python-docx: paragraphs and tables in their order, headers and footers left out, macros never looked at."""

import io
from collections.abc import Iterator

from docx import Document
from docx.table import Table


def read(content: bytes) -> Iterator[str]:
    for block in Document(io.BytesIO(content)).iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                yield " | ".join(dict.fromkeys(cell.text.strip() for cell in row.cells))
        else:
            yield block.text
