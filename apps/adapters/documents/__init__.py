"""Text extraction from files in a separate process.  Entry point: ``reading.read_document``."""
