"""The verifier's command line: whose token goes where."""

from __future__ import annotations

import sys

import pytest
from verifier.__main__ import _arguments


def given(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[str | None, str | None]:
    monkeypatch.setattr(sys, "argv", ["verify", *arguments])
    options = _arguments()
    return options.url, options.token


def test_the_token_comes_from_the_environment_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "kept")
    assert given(monkeypatch, "--url", "https://a.example") == ("https://a.example", "kept")
    assert given(monkeypatch, "--url", "https://a.example", "--token", "said")[1] == "said"
    assert given(monkeypatch) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--url", "https://a.example"), "go together"),
        (("--token", "t"), "go together"),
        (("--url", "http://a.example", "--token", "t"), "use https"),
        (("--url", "http://localhost.example", "--token", "t"), "use https"),
    ],
)
def test_what_would_show_a_token_or_lacks_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.delenv("TOKEN", raising=False)
    with pytest.raises(SystemExit) as ended:
        given(monkeypatch, *arguments)
    assert ended.value.code == 3
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://127.0.0.1:8787", "http://localhost:8787", "http://[::1]:8787"])
def test_http_is_for_this_machine(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    assert given(monkeypatch, "--url", url, "--token", "t") == (url, "t")
