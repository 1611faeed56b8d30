"""`memsync mcp`: the memory of a server for clients that start a program, and their configurations."""
