"""Read models of the console and the admin: lists, details, counts and charts.  Read-only."""
