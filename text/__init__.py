"""Reading text: patterns in linear time, and a budget for what reading may cost.  Pure Python, no Django, no app."""
