"""The rule-based extractor: small tables of rules, applied in a fixed order. Needs no model.

Nothing is imported here: compiling the tables takes half a second, which commands that read no text should not spend.
"""
