"""Files to read, made by the libraries that read them, and files that must not be read."""

import io
import zipfile
from collections.abc import Mapping, Sequence

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

FACT = "The boiler room key hangs behind the blue door on the third floor."


def pdf(*pages: str, password: str = "") -> bytes:
    """One line of text a page."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(612, 792)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    return _saved(writer.write)


def docx(*paragraphs: str, table: Sequence[Sequence[str]] = ()) -> bytes:
    document = Document()
    for text in paragraphs:
        document.add_paragraph(text)
    if table:
        made = document.add_table(rows=len(table), cols=len(table[0]))
        for row, cells in zip(made.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    return _saved(document.save)


def wide_cell(columns: int) -> bytes:
    """A DOCX with one cell that says that it is as wide as so many."""
    plain = docx("x", table=[["x"]])
    document = member(plain, "word/document.xml").decode()
    wide = document.replace("</w:tcPr>", f'<w:gridSpan w:val="{columns}"/></w:tcPr>')
    assert wide != document
    return with_member(plain, "word/document.xml", wide.encode())


def pptx(*slides: str, notes: str = "") -> bytes:
    presentation = Presentation()
    for text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(5), Inches(1))
        box.text_frame.text = text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    return _saved(presentation.save)


def xlsx(rows: Sequence[Sequence[object]]) -> bytes:
    book = Workbook()
    for row in rows:
        book.active.append(list(row))
    return _saved(book.save)


def archive(members: Mapping[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return buffer.getvalue()


def with_member(office: bytes, name: str, content: bytes) -> bytes:
    """An Office file with one member added, or replaced."""
    with zipfile.ZipFile(io.BytesIO(office)) as before:
        members = {one: before.read(one) for one in before.namelist()}
    return archive({**members, name: content})


def member(office: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(office)) as opened:
        return opened.read(name)


def _saved(save: object) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()
