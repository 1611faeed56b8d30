"""Settings of the embedded server: it listens on the loopback only, and its log holds no row values."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "256MB",
    "jit": "off",
    # Each connection plans its foreign key checks once.  Plans made while a table is small scan it completely, and stay
    # in use until its statistics change: a first import took twice as long in its first minute.
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Keep row values out of the log: no parameters, no statements, and no statement errors either, since their DETAIL
    # quotes rows (jsonlog writes DETAIL regardless of log_error_verbosity).  The application gets the errors of its
    # statements; the log covers only the server's own events.
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
