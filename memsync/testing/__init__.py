"""What the test-suite needs from the project: a throw-away database server."""
