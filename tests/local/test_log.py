"""The local host's log: what wrangler prints twice is told once."""

from yungong_local.log import readable

RAISED = """✘ [ERROR] Uncaught PythonError: Traceback (most recent call last):

    File "/session/metadata/entry.py", line 11, in broken
      raise ValueError("no")
  ValueError: no"""
STACK = """
   Error
      at new_error (file:///instance/worker/pyodide.asm.mjs:1:568651)
      at $wrap_exception (wasm://wasm/0249d42a:1:415075)


"""
TWIN = "\n   \n\n\n"
REQUEST = "[wrangler:info] GET /a 500 Internal Server Error (5ms)\n"


def test_an_error_is_told_once_and_without_frames_of_pyodide() -> None:
    assert readable(RAISED + STACK + RAISED + TWIN + REQUEST) == RAISED + "\n\n\n" + REQUEST


def test_what_is_printed_after_an_error_stays() -> None:
    assert readable(RAISED + STACK + RAISED + TWIN + "printed\n") == RAISED + "\n\n\nprinted\n"


def test_events_that_fail_alike_are_told_one_by_one() -> None:
    text = RAISED + STACK + RAISED + STACK + RAISED + TWIN + REQUEST + RAISED + TWIN
    assert readable(text) == (RAISED + "\n\n\n") * 2 + REQUEST


def test_an_error_without_a_stack_stays() -> None:
    assert readable(RAISED + TWIN) == RAISED + TWIN


def test_frames_of_the_workers_own_javascript_stay() -> None:
    raised, frame = "✘ [ERROR] Uncaught Error: no", "      at broken (file:///src/index.mjs:2:71)\n"
    text = f"{raised} Error\n\n{frame}\n\n{raised} \n\n\n"
    assert readable(text) == f"{raised}\n{frame}\n\n"


def test_colours_and_tables_go() -> None:
    assert readable("\x1b[31mred\x1b[0m\n│ table │\n[wrangler:info] Ready on http://127.0.0.1:1\n") == "red\n"
