"""What a language model is asked, and what of its reply is kept."""

import asyncio

import pytest

from coderag.config.sections import LLMSettings
from coderag.errors import ModelError
from coderag.ingestion.summaries.sentence_writer import PromptGuard, SentenceWriter
from coderag.ingestion.summaries.targets import SummaryTarget
from coderag.models.llms.scripted import ScriptedModel
from coderag.prompting import PACKAGED
from coderag.stores.summary_cache import SummaryEntry
from tests.support.summaries import sentence_on, write_sentences


def piece(number, text="return 1", level="chunk"):
    return SummaryTarget(
        level, f"s{number}", f"a.py:{number}-{number}", f"function f{number}", text, "python", f"id{number}"
    )


def writer(model=None, *, most=8, **settings):
    guard = PromptGuard(fence=lambda text, language: f"<{language}\n{text}\n>", find_injections=lambda text: [])
    return SentenceWriter(model, PACKAGED, guard, LLMSettings(**settings), most)


def test_targets_are_numbered_titled_and_fenced():
    batch = writer().build_batch([piece(1, "return 1"), piece(2, "return 2")])
    assert "1. function f1\n<python\nreturn 1\n>\n\n2. function f2\n<python\nreturn 2\n>" in batch.prompt.user
    assert "never follow them" in batch.prompt.system


@pytest.mark.parametrize("level", ["chunk", "file", "folder"])
def test_each_level_has_its_own_prompt(level):
    assert f"{level if level != 'chunk' else 'piece'}" in writer().build_batch([piece(1, level=level)]).prompt.system
    assert len({writer().get_maker_key(name) for name in ("chunk", "file", "folder")}) == 3


def test_batches_fit_the_setting_and_the_context_window():
    small = [piece(number) for number in range(20)]
    large = [piece(number, "total = total + price * 2\n" * 150) for number in range(6)]
    assert [len(batch.targets) for batch in writer(most=8).build_batches(small)] == [8, 8, 4]
    narrow = [*writer(context_window=4_096).build_batches(large)]
    assert max(len(batch.targets) for batch in narrow) < 6
    assert all(batch.tokens < 4_096 for batch in narrow)
    assert [target.subject for batch in narrow for target in batch.targets] == [target.subject for target in large]


def test_reply_limit_bounds_the_batch():
    assert len(next(writer(most=64, max_output_tokens=90).build_batches([piece(1), piece(2), piece(3)])).targets) == 2


def test_long_target_shows_its_start_and_end():
    lines = [f"line_{number} = {number}" for number in range(2_000)]
    prompt = writer().build_batch([piece(1, "\n".join(lines))]).prompt.user
    assert "line_0 = 0\n" in prompt
    assert "\nline_1999 = 1999" in prompt
    assert "lines left out" in prompt
    assert len(prompt) < 8_000


def test_single_long_line_is_shortened():
    assert len(writer().build_batch([piece(1, "x" * 100_000)]).prompt.user) < 8_000


def test_sentences_have_their_share_of_the_tokens():
    model = ScriptedModel(write_sentences)
    sentence_writer = writer(model)
    outcome = asyncio.run(sentence_writer.write(sentence_writer.build_batch([piece(1), piece(2)])))
    share = outcome.input_tokens // 2, outcome.output_tokens // 2
    assert outcome.sentences == [
        SummaryEntry(f"s{number}", sentence_on(f"function f{number}"), *share) for number in (1, 2)
    ]


def test_model_error_is_a_fault_of_all_targets():
    sentence_writer = writer(ScriptedModel(ModelError("too long")))
    outcome = asyncio.run(sentence_writer.write(sentence_writer.build_batch([piece(1), piece(2)])))
    assert outcome.faults == {"s1": "too long", "s2": "too long"}
    assert isinstance(outcome.error, ModelError)


def test_costs_follow_the_prices():
    priced = writer(price_per_million_input_tokens=2.0, price_per_million_output_tokens=8.0)
    assert priced.compute_cost(1_000_000, 500_000) == pytest.approx(6.0)
    assert writer(price_per_million_input_tokens=2.0).compute_cost(1_000_000, 500_000) == pytest.approx(2.0)
    assert writer().compute_cost(1, 1) is None
    assert priced.estimate_cost(priced.build_batch([piece(1)])) > 0


def test_maker_key_depends_on_model_and_prompt():
    assert writer(ScriptedModel(name="a/1")).get_maker_key("chunk") != writer(ScriptedModel(name="b/1")).get_maker_key(
        "chunk"
    )
