"""Commands that use a server through its API, as any other program does: they need no settings and no Django."""
