"""What a file may cost.  Generous for what people write; a file made to cost more is refused."""

from typing import Final

MAX_CHARACTERS: Final = 1_048_576  # of text in a file, as of text in an add
MAX_PAGES: Final = 2_000  # of a PDF, slides of a presentation, sheets of a workbook
MAX_CELLS: Final = 500_000
MAX_HTML_BYTES: Final = 10 * 1024 * 1024
MAX_MEMBERS: Final = 5_000  # of an archive, which DOCX, PPTX and XLSX are
MAX_UNPACKED: Final = 200 * 1024 * 1024  # bytes, of all members
MAX_RATIO: Final = 200  # unpacked to packed, of a member of more than RATIO_FROM bytes
RATIO_FROM: Final = 1024 * 1024

# Of the process that reads.  The largest files that people are known to write take 2 s and 400 MiB.
CPU_SECONDS: Final = 5
WALL_SECONDS: Final = 20.0
MEMORY_BYTES: Final = 512 * 1024 * 1024
NICENESS: Final = 15  # requests for memories go before the reading of files

# Of those processes together: how many a host runs is the setting DOCUMENT_READERS.
THREADS: Final = 4  # of a web process that may read or wait for a place
WAIT_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 5
