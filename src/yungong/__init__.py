"""yungong (云工): durable alarms, durable transactions and message queues on Cloudflare Python Workers.

Each module lists its public names; those of all interfaces stand here.
"""

from . import alarm, app, entrypoints, errors, events, queue, rpc, store, transaction
from .alarm import *
from .app import *
from .entrypoints import *
from .errors import *
from .events import *
from .queue import *
from .rpc import *
from .store import *
from .transaction import *

__version__ = "0.1.0"

__all__: list[str] = []
__all__ += alarm.__all__
__all__ += app.__all__
__all__ += entrypoints.__all__
__all__ += errors.__all__
__all__ += events.__all__
__all__ += queue.__all__
__all__ += rpc.__all__
__all__ += store.__all__
__all__ += transaction.__all__
