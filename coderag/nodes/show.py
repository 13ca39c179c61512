"""Node ``show``: cited lines of an earlier answer."""

from pathlib import Path

from langgraph.runtime import Runtime

from coderag.answering.chat.cited_lines import build_cited_lines_answer, build_remark_answer, extend_to_declaration
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.question.places import parse_location
from coderag.retrieval.context.context_request import pack_locations
from coderag.retrieval.items.item_snippets import find_snippets, read_item
from coderag.schema.records import to_record


def show(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Answer with the lines, or explain why they cannot be shown."""
    query = runtime.context.query
    if state["remark"]:
        answer = build_remark_answer(state["text"], state["remark"])
    else:
        corpus = query.corpus
        lines = list(
            dict.fromkeys(extend_to_declaration(corpus, *parse_location(location)) for location in state["places"])
        )
        locations = [f"{path}:{start}-{end}" for path, start, end in lines]
        context = pack_locations(corpus, locations, query.settings.token_budget, "markdown", query.items)
        snippets = [snippet for location in lines for snippet in find_snippets(corpus, query.items, *location)]
        items = [item for location in lines if (item := read_item(corpus, query.items, *location))]
        checker = CitationChecker(
            Path(query.root), corpus.snapshot.read_files(), {item["path"]: item for item in items}
        )
        answer = build_cited_lines_answer(corpus, state["text"], context, snippets, checker)
    runtime.stream_writer({"kind": "text", "text": answer.text})
    return {"answer": to_record(answer), "results": [], "question": ""}
