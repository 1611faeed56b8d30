"""Training of the reader: texts of independent writers, models, reports.  Nothing here runs in the service."""
