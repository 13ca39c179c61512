"""Write an answer: by a language model if one is configured, else from the evidence itself."""

from itertools import chain
from pathlib import Path

from coderag.answering.citations import CitationChecker
from coderag.answering.extractive import extract
from coderag.answering.generated import generate
from coderag.schema import Answer
from coderag.state import QueryContext, QueryState
from coderag.stores.pieces import context_pieces, related_pieces, result_pieces


async def write_answer(context: QueryContext, state: QueryState) -> Answer:
    """Return the answer to the state's question, every citation checked.

    Raises:
        ModelError: The configured language model failed.
    """
    corpus = context.corpus
    checker = CitationChecker(Path(context.root), corpus.snapshot.files())
    results = result_pieces(corpus, state["results"])
    related = related_pieces(corpus, state["related"])
    if context.language_model is None:
        text, claims = extract(state, results, related)
        citations = [checker.check(claim) for claim in claims]
        invented = 0
        generator = "extractive"
    else:
        pieces = list(chain.from_iterable(context_pieces(corpus, state)))
        text, claims, invented = await generate(context.language_model, state, pieces, context.masked_paths)
        citations = [checker.check(claim) for claim in claims]
        generator = context.language_model.name
    return Answer(
        query=state["query"],
        intent=state["analysis"]["intent"],
        text=text,
        citations=citations,
        verified=sum(citation.verified for citation in citations),
        total=len(citations) + invented,
        evidence=state["evidence"],
        hits=[],
        generator=generator,
    )
