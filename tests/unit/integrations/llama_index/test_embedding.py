import asyncio
import subprocess
import sys

import numpy as np
import pytest
from llama_index.core.schema import TextNode

from coderag.errors import ModelError
from coderag.integrations.llama_index.embedding import EmbeddedModel

TEXTS = ["def delete_user(user_id): session.delete(user_id)", "def parse_json(text): return decoder.decode(text)"]


@pytest.fixture(scope="module")
def model():
    return EmbeddedModel()


def test_model_names_itself(model):
    assert model.model_name == "coderag-words"
    assert model.dimension == 256
    assert EmbeddedModel.class_name() == "EmbeddedModel"
    assert model.vectors.name == model.model_name


def test_question_is_nearest_to_the_text_that_answers_it(model):
    question = np.array(model.get_query_embedding("where do we remove an account?"))
    delete, parse = model.get_text_embedding_batch(TEXTS)
    assert question @ delete > question @ parse


def test_embeddings_are_lists_of_floats_of_length_one(model):
    embedding = model.get_text_embedding(TEXTS[0])
    assert len(embedding) == model.dimension
    assert all(type(component) is float for component in embedding)
    assert np.linalg.norm(embedding) == pytest.approx(1, abs=1e-6)


def test_batch_gives_what_single_texts_give(model):
    singles = [model.get_text_embedding(text) for text in TEXTS]
    np.testing.assert_allclose(model.get_text_embedding_batch(TEXTS), singles, atol=1e-6)


def test_stop_words_of_a_question_do_not_count(model):
    assert model.get_query_embedding("where is the user password") == model.get_query_embedding("user password")


def test_async_interface_gives_the_same(model):
    assert asyncio.run(model.aget_query_embedding("user")) == model.get_query_embedding("user")
    assert asyncio.run(model.aget_text_embedding(TEXTS[0])) == model.get_text_embedding(TEXTS[0])


def test_calling_the_model_on_nodes_sets_their_embeddings(model):
    nodes = model([TextNode(text=text) for text in TEXTS])
    np.testing.assert_allclose([node.embedding for node in nodes], model.get_text_embedding_batch(TEXTS), atol=1e-6)


def test_fields_of_llama_index_can_be_set():
    assert EmbeddedModel(embed_batch_size=7).embed_batch_size == 7


def test_folder_without_vectors_is_an_error(tmp_path):
    with pytest.raises(ModelError):
        EmbeddedModel(tmp_path)


def test_word_vectors_need_no_llama_index():
    code = (
        "import sys, coderag.models.word_vectors; sys.exit(any(name.startswith('llama_index') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
