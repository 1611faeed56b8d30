"""Language models that read a turn and propose memories.  Without one, rules extract alone."""
