"""CSV and TSV by the standard library."""

import csv
from collections.abc import Iterator

from apps.adapters.documents.readers.tables import lines
from apps.adapters.documents.readers.text import decoded
from apps.adapters.documents.refusals import DocumentBroken


def read(content: bytes) -> Iterator[str]:
    text = decoded(content)
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        yield from lines(csv.reader(text.splitlines(), dialect))
    except csv.Error:
        raise DocumentBroken from None
