"""Text out of files, by well-kept libraries, in a process of its own.  ``reading.read_document`` is the way in."""
