"""The verifier's command line: whose token goes where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from verifier.arguments import parse


def given(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[str | None, str | None]:
    monkeypatch.setattr(sys, "argv", ["verify", *arguments])
    options = parse()
    return options.url, options.token


def test_the_token_comes_from_the_environment_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "kept")
    assert given(monkeypatch, "--url", "https://a.example") == ("https://a.example", "kept")
    assert given(monkeypatch, "--url", "https://a.example", "--token", "said")[1] == "said"
    assert given(monkeypatch) == (None, None)


def test_the_token_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOKEN", "kept")
    (tmp_path / "token").write_text("filed\n", "ascii")
    given_file = ("--token-file", str(tmp_path / "token"))
    assert given(monkeypatch, "--url", "https://a.example", *given_file)[1] == "filed"


def test_a_file_without_a_token_is_told_without_what_it_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for content in (b"", b"s3cret \xff", "密钥".encode()):
        (tmp_path / "token").write_bytes(content)
        with pytest.raises(SystemExit) as ended:
            given(monkeypatch, "--url", "https://a.example", "--token-file", str(tmp_path / "token"))
        assert ended.value.code == 3
        told = capsys.readouterr().err
        assert "token" in told
        assert "s3cret" not in told
        assert "密钥" not in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--url", "https://a.example"), "go together"),
        (("--token", "t"), "go together"),
        (("--url", "http://a.example", "--token", "t"), "use https"),
        (("--url", "http://localhost.example", "--token", "t"), "use https"),
        (("--url", "https://me:t@a.example", "--token", "t"), "must not hold"),
        (("--url", "https://a.example", "--token", "t", "--token-file", "x"), "two ways"),
        (("--deploy", "true"), "goes with --url"),
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
