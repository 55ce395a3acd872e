"""Runs a Python Worker under the real ``wrangler dev``, offline. A tool: nothing of it is deployed."""

from yungong_local.client import Delivery, Worker, WorkerObject
from yungong_local.errors import ConfigurationError, InstallationError, LocalHostError
from yungong_local.server import LocalHost

__all__ = [
    "ConfigurationError",
    "Delivery",
    "InstallationError",
    "LocalHost",
    "LocalHostError",
    "Worker",
    "WorkerObject",
]
