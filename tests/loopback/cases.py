"""Each provider with a server of its protocol: what is true of all of them is tested over all of them."""

import numpy as np
import scipy.sparse as sp

from coderag.config.sections import EmbeddingSettings
from coderag.models.dense import ChunkBatch, ProviderDense
from coderag.models.providers import make_dense_model
from coderag.stores.field_counts import FieldCounts
from tests.loopback import LoopbackServer, Reply
from tests.loopback.ollama_server import OllamaServer
from tests.loopback.openai_server import OpenAIServer
from tests.loopback.voyage_server import VoyageServer

MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small", "voyage": "voyage-code-3"}
SERVERS = {"ollama": OllamaServer, "openai": OpenAIServer, "voyage": VoyageServer}
PROVIDERS = tuple(MODELS)


class Case:
    """A provider, its running server and the waits that its model asked for."""

    def __init__(self, provider: str, server: LoopbackServer) -> None:
        self.provider = provider
        self.server = server
        self.model_name = MODELS[provider]
        self.waits: list[float] = []

    def model(self, **options: object) -> ProviderDense:
        settings = {"provider": self.provider, "model": self.model_name, "base_url": self.server.url, **options}
        return make_dense_model(EmbeddingSettings(**settings), sleep=self.waits.append)

    def reply(self, vectors: list[list[float]]) -> Reply:
        """Answer as the provider does, with these vectors."""
        if self.provider == "ollama":
            return Reply({"model": self.model_name, "embeddings": vectors})
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        return Reply({"object": "list", "data": data, "model": self.model_name, "usage": {}})

    @property
    def sent(self) -> list[list[str]]:
        """The texts of each request."""
        return [body["input"] for body in self.server.bodies]


def batch_of(texts: list[str], paths: tuple[str, ...] = ("src/a.py",)) -> ChunkBatch:
    """Return chunks of one file, or none."""
    empty = sp.csr_matrix((len(texts), 1), dtype=np.float32)
    return ChunkBatch(
        texts=texts,
        counts=FieldCounts(empty, empty, empty),
        terms=["x"],
        paths=paths,
        file_indices=np.zeros(len(texts), np.intp),
        path_counts=sp.csr_matrix((len(paths), 1), dtype=np.float32),
    )


def embedded(model: ProviderDense, texts: list[str]) -> np.ndarray:
    """Return the vectors of texts as the model gives them: without paths, cache and normalisation."""
    vectors = {}
    for positions, part in model._model.embed_requests(texts):
        vectors.update(zip(positions, part, strict=True))
    return np.array([vectors[position] for position in range(len(texts))])
