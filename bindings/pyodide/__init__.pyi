"""Pyodide, as far as the package uses it: the bridge between Python and JavaScript in `pyodide.ffi`."""

__version__: str
