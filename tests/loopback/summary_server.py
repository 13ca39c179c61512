"""An Ollama whose model writes the sentences that a prompt for summaries asks for."""

from tests.loopback import Reply, Request
from tests.loopback.ollama_server import OllamaServer
from tests.support.summaries import PIECE, sentence_on


class SummaryServer(OllamaServer):
    """As `OllamaServer`; it answers each prompt with a line a piece, and tells what it was asked of in `titles`."""

    def respond(self, request: Request) -> Reply:
        if request.path == "/api/chat":
            self.answer = "\n".join(f"{number}. {sentence_on(title)}" for number, title in pieces_of(request))
        return super().respond(request)

    @property
    def titles(self) -> list[list[str]]:
        """Of each prompt, what it asked of."""
        chats = [request for request in self.requests if request.path == "/api/chat"]
        return [[title for _, title in pieces_of(request)] for request in chats]


def pieces_of(request: Request) -> list[tuple[str, str]]:
    """Return the number and the title of each piece that a request asks of."""
    return PIECE.findall(request.body["messages"][-1]["content"])
