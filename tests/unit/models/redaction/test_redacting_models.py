"""Models on servers are sent no secrets, and models in this process everything."""

import numpy as np

from coderag.models.dense import VECTORS_NAMESPACE, ProviderDense
from coderag.models.protocols import RerankScores
from coderag.models.redaction.redacting_models import RedactingEmbedder, RedactingReranker, redact_remote
from coderag.stores.content_cache import ContentCache
from tests.loopback.cases import Case, batch_of, embedded
from tests.loopback.ollama_server import OllamaServer

PASSWORD = 'connect(password="hunter2")'
SENT = 'connect(password="[secret removed: Password]")'


def test_texts_and_questions_are_sent_without_secrets():
    with OllamaServer() as server:
        model = Case("ollama", server).model()
        model.wrap_model(redact_remote)
        vectors = embedded(model, [PASSWORD, "plain"])
        model.embed_query(PASSWORD, [])
        assert model._model.prepare_text(PASSWORD) == f"search_document: {SENT}"
        assert "hunter2" not in str(server.bodies)
        assert server.bodies[0]["input"] == [f"search_document: {SENT}", "search_document: plain"]
        assert vectors.shape == (2, server.dimension)
        assert model.info == Case("ollama", server).model().info


def test_vector_of_an_unredacted_text_is_not_reused(tmp_path):
    with OllamaServer() as server, ContentCache(tmp_path, limit_bytes=1_000_000) as cache:
        open_model, model = Case("ollama", server).model(), Case("ollama", server).model()
        model.wrap_model(redact_remote)
        open_model.cache = model.cache = cache
        batch = batch_of([PASSWORD, "plain"])
        open_model.embed_batch(batch)
        assert open_model.count_cached(batch) == 3
        assert model.count_cached(batch) == 2  # the plain text and the path: what is sent is the same
        model.embed_batch(batch)
        assert (
            len(
                cache.find_existing(
                    VECTORS_NAMESPACE, [*open_model._compute_keys([PASSWORD]), *model._compute_keys([PASSWORD])]
                )
            )
            == 2
        )


class InThisProcess:
    name, dimension = "local", 2

    def prepare_text(self, text):
        return text

    def embed_requests(self, texts):
        yield range(len(texts)), np.ones((len(texts), 2), np.float32)

    def embed_query(self, query):
        return np.ones(2, np.float32)


def test_local_model_gets_unredacted_texts():
    model = ProviderDense(InThisProcess(), "model2vec")
    model.wrap_model(redact_remote)
    assert isinstance(model._model, InThisProcess)
    assert not isinstance(redact_remote(InThisProcess()), RedactingEmbedder)


class Judge:
    name, candidates, remote = "judge", 7, True

    def __init__(self):
        self.seen = []

    def rerank(self, query, texts):
        self.seen += [query, *texts]
        return RerankScores([1.0] * len(texts))


def test_reranker_gets_the_question_and_the_texts_without_secrets():
    judge = Judge()
    reranker = RedactingReranker(judge)
    assert reranker.rerank(PASSWORD, ["plain", PASSWORD]).scores == [1.0, 1.0]
    assert judge.seen == [SENT, "plain", SENT]
    assert (reranker.name, reranker.candidates, reranker.remote) == ("judge", 7, True)
