"""Starlette on a real workerd, in the Worker and in a Durable Object."""

NOTES = "/notebooks/anna/notes"


def test_the_worker_answers(worker):
    assert worker.fetch("GET", "/").text.startswith("PUT, GET or DELETE")
    assert worker.fetch("GET", "/nothing").status_code == 404


def test_a_note_is_written_in_a_transaction_and_read(worker):
    assert worker.fetch("PUT", f"{NOTES}/a", json={"note": "first"}).json() == {"written": 1}
    assert worker.fetch("PUT", f"{NOTES}/a", json={"note": "second"}).json() == {"written": 2}
    assert worker.fetch("GET", f"{NOTES}/a").json() == {"note": "second", "written": 2}
    assert worker.fetch("DELETE", f"{NOTES}/a").json() == {"existed": True}
    assert worker.fetch("GET", f"{NOTES}/a").status_code == 404


def test_what_the_store_refuses_is_an_answer_of_400(worker):
    answer = worker.fetch("PUT", f"{NOTES}/{'k' * 2049}", json={"note": ""})
    assert answer.status_code == 400
    assert "2048" in answer.json()["refused"]


def test_notebooks_are_apart_and_are_streamed(worker):
    for name in ("anna", "bert"):
        for key in ("a", "b"):
            worker.fetch("PUT", f"/notebooks/{name}/notes/{key}", json={"note": f"{name}'s {key}"})
    assert worker.fetch("GET", NOTES).text == "a: anna's a\nb: anna's b\n"
