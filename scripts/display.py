"""What the scripts show on a terminal, or in a file: a console wide enough for a table, and progress."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

WIDTH_WITHOUT_TERMINAL = 170


def console(*, to_stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for a table where there is none."""
    plain = Console(stderr=to_stderr)
    return plain if plain.is_terminal else Console(stderr=to_stderr, width=WIDTH_WITHOUT_TERMINAL)


def progress(output: Console) -> Progress:
    """The display of what is done, a line for each task."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=output,
    )
