"""The probes: one for each claim that only a real platform settles, with its measurement and its judge."""

from . import alarm, queue, store, transaction
from .shape import Probe

PROBES: tuple[Probe, ...] = (*alarm.PROBES, *store.PROBES, *transaction.PROBES, *queue.PROBES)

__all__ = ["PROBES", "Probe"]
