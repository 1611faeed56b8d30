"""The database that comes with memsync, for people who have none yet."""
