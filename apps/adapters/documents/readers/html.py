"""HTML by selectolax: the text of the body.  Linked resources are not fetched."""

from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from apps.adapters.documents.limits import MAX_HTML_BYTES
from apps.adapters.documents.readers.text import decoded, paragraphs
from apps.adapters.documents.refusals import DocumentTooLarge

NOT_TEXT: Final = ["script", "style", "noscript", "template", "svg", "head", "iframe", "object", "nav"]
# Block elements, each put on a line of its own; inline elements stay in their line.
BLOCKS: Final = "p,div,section,article,h1,h2,h3,h4,h5,h6,li,tr,br,blockquote,pre,table,ul,ol,dt,dd,figcaption"


def read(content: bytes) -> Iterator[str]:
    if len(content) > MAX_HTML_BYTES:
        raise DocumentTooLarge
    page = LexborHTMLParser(decoded(content))
    page.strip_tags(NOT_TEXT, recursive=True)
    if page.body is None:
        return
    for block in page.body.css(BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    yield from paragraphs(page.body.text(deep=True))
