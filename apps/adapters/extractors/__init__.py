"""Language models that read a turn and propose what is worth remembering.  Rules do it where there is none."""
