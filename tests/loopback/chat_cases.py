"""Each provider of language models with a server of its protocol: what is true of all is tested over all."""

from coderag.config.sections import LLMSettings
from coderag.models.llms.providers import make_language_model
from coderag.models.protocols import LanguageModel
from tests.loopback import LoopbackServer, Reply, Stream
from tests.loopback.anthropic_server import AnthropicServer
from tests.loopback.chat_api import ChatApi
from tests.loopback.gemini_server import GeminiServer
from tests.loopback.ollama_server import OllamaServer
from tests.loopback.openai_server import OpenAIServer

MODELS = {
    "ollama": "qwen2.5-coder",
    "openai": "gpt-4o-mini",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3.7-flash",
}
SERVERS = {"ollama": OllamaServer, "openai": OpenAIServer, "anthropic": AnthropicServer, "gemini": GeminiServer}
EXTRAS = {
    "openai": "llama_index.llms.openai_like",
    "anthropic": "llama_index.llms.anthropic",
    "gemini": "llama_index.llms.google_genai",
}
PROVIDERS = tuple(MODELS)


class ChatServer(ChatApi, LoopbackServer):
    """What all of `SERVERS` are."""


class ChatCase:
    """A provider, its running server and the waits that its model asked for."""

    def __init__(self, provider: str, server: ChatServer) -> None:
        self.provider = provider
        self.server = server
        self.model_name = MODELS[provider]
        self.waits: list[float] = []

    def settings(self, **options: object) -> LLMSettings:
        given = {"provider": self.provider, "model": self.model_name, "base_url": self.server.url, **options}
        return LLMSettings(**given)  # type: ignore[arg-type]  # checked by pydantic

    def model(self, **options: object) -> LanguageModel:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        model = make_language_model(self.settings(**options), sleep=sleep)
        assert model is not None
        return model

    def stream(self, *pieces: bytes | float, complete: bool = True) -> Stream:
        """Return an answer of frames and silences, see `Stream.pieces`."""
        return Stream(headers={"Content-Type": self.server.stream_type}, pieces=pieces, complete=complete)

    def refusal(self, status: int, message: str, **headers: str) -> Reply:
        """Refuse a request as the provider does."""
        error: object = {"message": message, "code": status, "status": "ERROR"}
        return Reply({"error": message if self.provider == "ollama" else error}, status, headers)
