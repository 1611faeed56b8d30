"""Read XML that others wrote: without document types, and with them every entity that would be expanded."""

from collections.abc import Mapping
from typing import Final
from xml.parsers import expat

DEEPEST: Final = 50  # elements


class XmlRefused(Exception):
    """The content is not well-formed, has a document type, is nested too deeply, or is of another kind."""


class XmlReader:
    """Base class of readers.  open: names of the open elements, in lower case, without namespace."""

    def __init__(self) -> None:
        self.open: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins; it is the last one of ``open``.  May raise XmlRefused."""

    def text(self, text: str) -> None:
        """A piece of the text of the innermost open element."""

    def end(self, name: str) -> None:
        """An element ends; it is no longer in ``open``."""


def read_xml(content: bytes, reader: XmlReader) -> None:
    """Call the reader for each element, in the order of the document.  Raises XmlRefused."""

    def start(name: str, attributes: Mapping[str, str]) -> None:
        reader.open.append(name.rpartition(" ")[2].lower())
        if len(reader.open) > DEEPEST:
            raise XmlRefused
        reader.start(reader.open[-1], attributes)

    def refuse(*_: object) -> None:
        raise XmlRefused

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, lambda _: reader.end(reader.open.pop())
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = reader.text, refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError):  # the last two: of an unknown encoding
        raise XmlRefused from None
