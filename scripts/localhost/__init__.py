"""Runs the Worker under the real ``wrangler dev``, offline. A development tool; nothing of it is deployed."""

from localhost.server import LocalHost, LocalHostError

__all__ = ["LocalHost", "LocalHostError"]
