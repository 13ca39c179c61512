"""Topic of an answer where the wording leaves it open: the evidence of the code decides."""

import pytest

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.topic_choice import choose_supported_topic
from coderag.stores.snippets import build_result_snippets
from tests.support.corpora import make_context
from tests.support.extracted import state_of

FILES = {
    "jobs/queue.py": (
        "RETRY_LIMIT = 5\n\n\ndef run_job(job):\n    '''Run one job of the queue.'''\n    if job.expired:\n"
        "        raise JobExpired(f'job {job.name} has expired')\n    job.run()\n"
    ),
    "jobs/clock.py": "def read_clock(zone):\n    '''Return the time in a zone.'''\n    return zone.now()\n",
}


def choose(question, form="explanation", **probabilities):
    context = make_context(FILES)
    state = state_of(context, question)
    state["analysis"]["reading"] |= {"kind": "general", "form": form, "topic_probabilities": probabilities}
    state["evidence"] = "found"
    return choose_supported_topic(AnswerInput(context, state, build_result_snippets(context.corpus, state["results"])))


def test_a_likely_failure_with_a_line_that_raises_is_the_topic():
    assert choose("does the queue go on when a job has expired", failure=0.1) == "failure"


@pytest.mark.parametrize(
    ("question", "form", "failure"),
    [
        ("does the queue go on when a job has expired", "explanation", 0.01),
        ("where does the queue see that a job has expired", "place", 0.3),
        ("what does read_clock give for a zone", "explanation", 0.0),
    ],
)
def test_an_unlikely_failure_or_a_question_for_a_place_stays_one(question, form, failure):
    assert choose(question, form, failure=failure) == "place"


def test_a_likely_setting_needs_a_line_that_gives_its_value():
    assert choose("what is RETRY_LIMIT of the queue for", setting=0.3) == "setting"
    assert choose("what does the zone of the clock do", setting=0.3) == "place"


def test_a_flow_needs_known_calls():
    assert choose("what becomes of a zone on its way", flow=0.9) == "place"
