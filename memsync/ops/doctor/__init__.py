"""`memsync doctor`: check every part of an instance, and say how to fix each problem."""
