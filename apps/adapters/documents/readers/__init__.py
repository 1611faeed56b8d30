"""One module per kind of file: ``read(content)`` yields its text in pieces, in reading order."""
