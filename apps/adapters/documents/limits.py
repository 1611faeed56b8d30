"""Limits on reading a file: generous for real documents; a file above them is refused."""

from typing import Final

MAX_CHARACTERS: Final = 1_048_576  # of text in a file, as of text in an add
MAX_PAGES: Final = 2_000  # of a PDF, slides of a presentation, sheets of a workbook
MAX_CELLS: Final = 500_000
MAX_HTML_BYTES: Final = 10 * 1024 * 1024
MAX_MEMBERS: Final = 5_000  # of a ZIP archive: DOCX, PPTX or XLSX
MAX_UNPACKED: Final = 200 * 1024 * 1024  # bytes, all members together
MAX_RATIO: Final = 200  # compression ratio of a member that unpacks to more than RATIO_FROM bytes
RATIO_FROM: Final = 1024 * 1024

# Of the reading process.  The largest known real files take 2 s and 400 MiB.
CPU_SECONDS: Final = 5
WALL_SECONDS: Final = 20.0
MEMORY_BYTES: Final = 512 * 1024 * 1024
NICENESS: Final = 15  # memory requests have priority over reading files

# Of all reading processes; the setting DOCUMENT_READERS limits their number per host.
THREADS: Final = 4  # threads of one web process that may read or wait for a place
WAIT_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 5
