"""The names that an application imports."""

import types

import yungong


def test_all_is_sorted_and_complete() -> None:
    public = {
        name
        for name, value in vars(yungong).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert yungong.__all__ == sorted(public)


def test_every_export_has_a_docstring() -> None:
    assert [name for name in yungong.__all__ if not getattr(yungong, name).__doc__] == []
