"""Text processing in pure Python, without Django: linear-time patterns, and a budget for the cost of reading a text."""
