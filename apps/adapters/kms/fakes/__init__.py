"""Key services for tests and trials: they speak the wire of the real ones on the loopback, and keep no secret."""
