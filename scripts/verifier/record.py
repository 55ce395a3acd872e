"""What a run has settled and which objects it has open, in a file: an interrupted run goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

from .forms import Json

FORM = 1


class Record:
    """Lines of JSON, each written at once; without a path nothing outlives the run.

    The first line says who was verified by whom. When that has changed nothing counts as settled any more,
    but what was left open is still to be cleared.
    """

    def __init__(self, path: Path | None, heading: dict[str, Json], *, anew: bool = False) -> None:
        self.path = path
        self.settled: dict[str, Json] = {}
        self.open: set[str] = set()
        self.requests = 0
        lines = _lines(path) if path else []
        heading = {"form": FORM} | heading
        same = bool(lines) and lines[0] == heading and not anew
        for line in lines[1:]:
            match line:
                case {"settled": name, "as": told} if same:
                    self.settled[name] = told
                case {"open": names}:
                    self.open |= set(names)
                case {"cleared": names}:
                    self.open -= set(names)
                case {"requests": count} if same:
                    self.requests += count
        if path and not same:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(heading) + "\n", "ascii")
            if self.open:
                self._write({"open": sorted(self.open)})
        elif path and not path.read_text("ascii").endswith("\n"):
            with path.open("a", encoding="ascii") as file:
                file.write("\n")  # the last line was interrupted

    def opened(self, *names: str) -> None:
        """Objects are about to be used."""
        new = [name for name in names if name not in self.open]
        if new:
            self.open |= set(new)
            self._write({"open": new})

    def cleared(self, *names: str) -> None:
        """Objects hold nothing any more."""
        self.open -= set(names)
        self._write({"cleared": list(names)})

    def settle(self, name: str, told: Json) -> None:
        """A case or a probe has its verdict."""
        self.settled[name] = told
        self._write({"settled": name, "as": told})

    def asked(self, requests: int) -> None:
        """So many requests were made by the run that ends now."""
        self._write({"requests": requests})

    def finish(self) -> None:
        """Everything is settled and cleared: the next run begins anew."""
        if self.path:
            self.path.unlink(missing_ok=True)

    def _write(self, line: Json) -> None:
        if self.path:
            with self.path.open("a", encoding="ascii") as file:
                file.write(json.dumps(line) + "\n")


def _lines(path: Path) -> list[Json]:
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        return []
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue  # the writing of it was interrupted
    return lines
