"""Answers by a real small model on a server that speaks like OpenAI.

They need such a server, for example ``python -m llama_cpp.server --model MODEL.gguf --n_ctx 4096``, and its address in
``TEST_LLM_URL``. What a small model writes is not asserted: only what holds of every answer.
"""

import os

import pytest

from coderag import CodeRAG
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(self.sum)\n"
    ),
}
URL = os.environ.get("TEST_LLM_URL", "")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not URL, reason="TEST_LLM_URL names no server"),
]
pytest.importorskip("llama_index.llms.openai_like", reason="the extra openai is not installed")


@pytest.fixture
def shop(tmp_path):
    llm = {
        "provider": "openai",
        "base_url": URL,
        "model": "local",
        "api_key": "unused",
        "context_window": 2_048,
        "max_output_tokens": 128,
        "timeout_s": 600,
    }
    rag = CodeRAG(write_files(tmp_path / "shop", FILES), llm=llm)
    rag.index()
    return rag


@pytest.mark.parametrize("question", ["who calls round_up", "how is the total of a cart rounded"])
async def test_answer_of_a_small_model_holds_or_is_replaced(shop, question):
    events = [event async for event in shop.astream(question)]
    answer = events[-1].answer
    assert "".join(event.text for event in events if event.kind == "text") == answer.text
    assert any(event.kind == "draft" for event in events)
    if answer.generator == "extractive":
        assert answer.sections[0].kind == "remark"
        assert not any(claim.shown for claim in answer.claims if claim.status != "verified")
    else:
        assert 2 * answer.verified >= answer.total > 0
