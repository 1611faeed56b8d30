"""Support for the test suite: a throw-away database server."""
