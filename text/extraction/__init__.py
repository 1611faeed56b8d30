"""The extractor that needs no model: small tables of rules, read in a fixed order by ``reader``.

Nothing is imported here: the tables take half a second to compile, and commands that read no text do not wait for it.
"""
