"""The settings of the embedded server: it listens on the loopback only, and its log holds no value of a row."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "256MB",
    "jit": "off",
    # Foreign keys are checked by plans that a connection makes once.  Those made while a table is small read all of it,
    # and hold until its statistics are new: a first import took twice as long in its first minute.
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # What a statement carried never reaches the log: no parameters, no statements, and no errors of statements either,
    # since their DETAIL quotes rows (and jsonlog writes DETAIL whatever log_error_verbosity says).  The application
    # that sent the statement gets its error; the log covers only the server's own events.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_destination": "jsonlog",
    "logging_collector": "on",
    "log_filename": "postgres.log",  # with jsonlog the server writes postgres.json
    "log_rotation_size": "10MB",
}
THROW_AWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum_naptime": "1min"}
