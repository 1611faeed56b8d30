"""The embedded PostgreSQL server, for users without a database server of their own."""
