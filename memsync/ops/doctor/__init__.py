"""`memsync doctor`: is everything well?  It looks at every part, and says of what is not well what to do."""
