"""A task that never ends."""

while True:
    pass
