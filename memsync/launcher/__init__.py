"""Starts memsync on this machine and keeps it running: `memsync up`, `down` and `status`."""
