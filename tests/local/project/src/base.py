"""A base class in a module of its own."""

from workers import DurableObject


class Sleeper(DurableObject):
    """Has a handler that others inherit."""

    async def alarm(self, info):
        print("slept")
