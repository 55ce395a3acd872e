"""The service on a real workerd, rendering from a source on this machine."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PAGE = b'{"title": "A & B", "lines": ["one", "<two>"]}'
RENDERED = "<title>A &amp; B</title><p>one</p><p>&lt;two&gt;</p>"


class Source(BaseHTTPRequestHandler):
    """Answers /page with a page, and /NUMBER with that status."""

    def do_GET(self):
        status = 200 if self.path == "/page" else int(self.path[1:])
        self.send_response(status)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def source() -> Iterator[str]:
    """The address of a source of pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Source) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def ask(worker, address, customer="anna"):
    return worker.fetch("POST", f"/{customer}/jobs", json={"source": address})


def eventually(found):
    """What `found` returns, once it is true."""
    for _ in range(400):
        if result := found():
            return result
        time.sleep(0.05)
    raise AssertionError("it has not come after 20 s")


def settled(worker, job, customer="anna"):
    """How the job stands, once it is settled."""

    def found():
        entry = worker.fetch("GET", f"/{customer}/jobs/{job}").json()
        return entry if entry["state"] != "waiting" else None

    return eventually(found)


def test_a_page_is_rendered(worker, source):
    answer = ask(worker, f"{source}/page")
    assert answer.status_code == 202
    job = answer.json()["job"]
    assert settled(worker, job) == {
        "job": job,
        "source": f"{source}/page",
        "state": "done",
        "html": RENDERED,
    }
    assert worker.sent("pages") == [{"customer": "anna", "job": job, "source": f"{source}/page"}]


def test_a_page_that_is_not_there_fails_at_once(worker, source):
    entry = settled(worker, ask(worker, f"{source}/404").json()["job"])
    assert (entry["state"], entry["reason"]) == ("failed", "the source answered 404")


def test_a_busy_source_is_asked_again_later(worker, source):
    messages = [{"customer": "anna", "job": "1", "source": f"{source}/{what}"} for what in ("503", "page")]
    delivery = worker.deliver("pages", messages)
    assert delivery.outcome == "ok"
    assert delivery.retried == {0: 10}
    assert delivery.acknowledged == (1,)


def test_a_dead_letter_fails_its_job_and_no_other(worker, source):
    job = ask(worker, f"{source}/503").json()["job"]
    message = {"customer": "anna", "job": job, "source": f"{source}/503"}
    assert worker.deliver("pages-dead", [message]).outcome == "ok"
    failed = settled(worker, job)
    assert failed["reason"] == "the source was busy for too long"
    worker.deliver("pages", [message | {"source": f"{source}/page"}])  # comes late: nothing changes
    assert settled(worker, job) == failed


def test_the_sixth_job_of_a_minute_is_refused_and_leaves_nothing(worker, source):
    answers = [ask(worker, f"{source}/404") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [202] * 5 + [429]
    assert 0 < int(answers[5].headers["Retry-After"]) <= 61
    assert list(worker.fetch("GET", "/anna/jobs").json()) == [f"{number:08}" for number in range(1, 6)]
    assert ask(worker, f"{source}/404", customer="bert").status_code == 202


def test_jobs_are_listed_page_by_page(worker, source):
    for _ in range(5):
        ask(worker, f"{source}/404")
    first = worker.fetch("GET", "/anna/jobs?limit=3").json()
    rest = worker.fetch("GET", f"/anna/jobs?limit=3&after={list(first)[-1]}").json()
    assert [*first, *rest] == [f"{number:08}" for number in range(1, 6)]
    assert len(first) == 3


def test_what_was_sent_is_noted_no_more(worker, source):
    customer = worker.object("CUSTOMERS", "dora", shared=True)
    settled(worker, ask(worker, f"{source}/404", "dora").json()["job"], "dora")
    eventually(lambda: not [key for key in customer.entries() if key.startswith("unsent:")])
    assert customer.alarm() is None


def test_a_source_that_is_no_text_or_too_long_is_refused(worker):
    for source in (None, "x" * 2001):
        assert ask(worker, source).status_code == 400
    assert worker.fetch("GET", "/anna/jobs").json() == {}


def test_nobody_else_can_tell_a_result(worker):
    assert worker.fetch("PUT", "/anna/results/00000001", json={"state": "done"}).status_code == 404
