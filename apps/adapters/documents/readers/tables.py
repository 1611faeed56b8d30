"""Turn table rows into self-contained lines: each cell is preceded by its column's name."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from apps.adapters.documents.limits import MAX_CELLS
from apps.adapters.documents.refusals import DocumentTooLarge


def lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """``name: Ana; city: Porto`` for each row below the first, which names the columns; blank cells are left out.

    Raises DocumentTooLarge past MAX_CELLS.
    """
    header: list[str] | None = None
    met = 0
    for row in rows:
        met += max(1, len(row))
        if met > MAX_CELLS:
            raise DocumentTooLarge
        cells = ["" if cell is None else str(cell).strip() for cell in row]
        if not any(cells):
            continue
        if header is None:
            header = cells
            yield " | ".join(cell for cell in cells if cell)
            continue
        pairs = zip_longest(header[: len(cells)], cells, fillvalue="")
        yield "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
