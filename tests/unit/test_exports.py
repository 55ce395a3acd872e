"""The names that an application imports."""

import pydoc
from typing import Any

import pytest

import yungong
from yungong import alarm, app, entrypoints, errors, events, queue, rpc, store, transaction

MODULES = (
    alarm,
    app,
    entrypoints,
    errors,
    events,
    queue,
    rpc,
    store,
    transaction,
)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_lists_its_own_names_sorted(module: Any) -> None:
    assert module.__all__ == sorted(module.__all__)
    assert {getattr(module, name).__module__ for name in module.__all__} == {module.__name__}


def test_the_package_has_the_names_of_its_modules_and_no_others() -> None:
    assert sorted(yungong.__all__) == sorted(name for module in MODULES for name in module.__all__)
    assert all(hasattr(yungong, name) for name in yungong.__all__)


def test_help_and_dir_show_every_name() -> None:
    shown = pydoc.plain(pydoc.render_doc(yungong))
    assert [name for name in yungong.__all__ if name not in dir(yungong) or name not in shown] == []


def test_every_export_has_a_docstring() -> None:
    assert [name for name in yungong.__all__ if not getattr(yungong, name).__doc__] == []


def test_an_unknown_name_is_refused_as_any_module_does() -> None:
    with pytest.raises(AttributeError, match=r"^module 'yungong' has no attribute 'unknown'$"):
        _ = yungong.unknown  # type: ignore[attr-defined]
