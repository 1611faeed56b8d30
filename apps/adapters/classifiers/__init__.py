"""Classifiers of what people say to an assistant, with our own models."""
