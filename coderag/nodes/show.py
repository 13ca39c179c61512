"""Node ``show``: lines that an earlier answer cited, as they are."""

from pathlib import Path

from langgraph.runtime import Runtime

from coderag.answering.chat.shown import remark_answer, shown_answer, whole_lines
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate
from coderag.answering.citations import CitationChecker
from coderag.question.places import parse_place
from coderag.retrieval.packing import pack_places
from coderag.schema.records import record_of
from coderag.stores.pieces import pieces_of_lines


def show(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Answer with the lines, or say why there are none of that number."""
    query = runtime.context.query
    if state["remark"]:
        answer = remark_answer(state["text"], state["remark"])
    else:
        corpus = query.corpus
        lines = list(dict.fromkeys(whole_lines(corpus, *parse_place(place)) for place in state["places"]))
        places = [f"{path}:{start}-{end}" for path, start, end in lines]
        context = pack_places(corpus, places, query.settings.token_budget, "markdown")
        pieces = [piece for place in lines for piece in pieces_of_lines(corpus, *place)]
        checker = CitationChecker(Path(query.root), corpus.snapshot.files())
        answer = shown_answer(corpus, state["text"], context, pieces, checker)
    runtime.stream_writer({"kind": "text", "text": answer.text})
    return {"answer": record_of(answer), "results": [], "question": ""}
