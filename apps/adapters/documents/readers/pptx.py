"""PPTX by python-pptx: the text and tables of each slide, and the speaker's notes."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation

from apps.adapters.documents.limits import MAX_PAGES
from apps.adapters.documents.refusals import DocumentTooLarge

MAX_NESTING = 20  # of groups in groups


def read(content: bytes) -> Iterator[str]:
    slides = Presentation(io.BytesIO(content)).slides
    if len(slides) > MAX_PAGES:
        raise DocumentTooLarge
    for slide in slides:
        yield "\n".join(_texts(slide.shapes))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield slide.notes_slide.notes_text_frame.text


def _texts(shapes: Iterable[Any], *, depth: int = 0) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < MAX_NESTING:
            yield from _texts(shape.shapes, depth=depth + 1)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                yield " | ".join(cell.text.strip() for cell in row.cells)
        elif getattr(shape, "has_text_frame", False):
            yield shape.text_frame.text
