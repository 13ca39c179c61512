"""Request bodies of the search playground: previews, experiments and replays."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from coderag.config.sections import MAX_RESULTS
from coderag.engine.search_options import RankingSettings
from coderag.interfaces.rest.bodies import (
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    NO_NUL_PATTERN,
    FilteredBody,
    QueryText,
    RecordedBody,
    RequestBody,
    RootBody,
)
from coderag.schema.vocabulary import Intent

MAX_PAGE: Final = 50
"""Results of one preview or experiment, at most."""

MAX_REPLAYS: Final = 50
"""Recorded searches that one request runs again, at most."""

_MAX_SIGNALS: Final = 100
_MAX_LINE: Final = 100_000_000

SignalName = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL_PATTERN)]
RecordId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]+$")]
Factor = Annotated[float, Field(ge=0, le=10)]
PageSize = Annotated[
    int | None, Field(ge=1, le=MAX_PAGE, description="Maximum number of results; by default `search.top_k`.")
]


class PreviewBody(RootBody, RecordedBody):
    """A search for results with their matching lines."""

    top_k: PageSize = None
    offset: int = Field(0, ge=0, lt=MAX_RESULTS, description="Results to skip: `next_offset` of the previous page.")


class RankingBody(RequestBody):
    """Settings of the ranking for one request; nothing is stored."""

    weights: dict[SignalName, Factor] = Field(
        {}, max_length=_MAX_SIGNALS, description="Factors on the weights of features, by name, as `search.weights`."
    )
    disabled_signals: list[SignalName] = Field(
        [], max_length=_MAX_SIGNALS, description="Channels and features to switch off, as `search.disabled_signals`."
    )

    def to_settings(self) -> RankingSettings:
        """Convert to the settings of the engine."""
        return RankingSettings(self.weights, self.disabled_signals)


class ExperimentBody(RootBody, FilteredBody):
    """A query to rank with the saved settings, and with one or two others."""

    query: QueryText
    top_k: PageSize = None
    variants: list[RankingBody] = Field(min_length=1, max_length=2, description="Settings to compare with the saved.")


class FeedbackPlaceBody(RequestBody):
    """A result that feedback is about."""

    path: str = Field(
        min_length=1, max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description="File of the result, with `/`."
    )
    start_line: int = Field(ge=1, le=_MAX_LINE, description="First line of the result.")
    end_line: int = Field(ge=1, le=_MAX_LINE, description="Last line of the result.")
    symbol: str = Field(
        "", max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Qualified name of the declaration."
    )

    @model_validator(mode="after")
    def _check_lines(self) -> "FeedbackPlaceBody":
        if self.end_line < self.start_line:
            raise ValueError("end_line is before start_line")
        if self.path.startswith("/") or "\\" in self.path or ".." in self.path.split("/"):
            raise ValueError("path is not relative to the repository, with '/'")  # as a golden set requires
        return self


class FeedbackBody(RootBody):
    """Feedback on one result of a query, or on the query as a whole."""

    query: QueryText
    verdict: Literal["up", "down", "none", "unanswerable"] = Field(
        description="`up`: the result answers the query; `down`: it does not; `none` withdraws it. Without a place:"
        " `unanswerable` marks that the repository has no answer, `none` takes the mark back."
    )
    place: FeedbackPlaceBody | None = Field(None, description="The result.")
    intent: Intent = Field("general", description="Intent of the query, as `POST /api/v1/explain` understood it.")

    @model_validator(mode="after")
    def _check_scope(self) -> "FeedbackBody":
        if self.verdict in ("up", "down") and self.place is None:
            raise ValueError(f"the verdict {self.verdict!r} needs a place")
        if self.verdict == "unanswerable" and self.place is not None:
            raise ValueError("the verdict 'unanswerable' is about the query, not about a place")
        return self


class ReplayBody(RootBody):
    """Recorded searches to run again."""

    ids: list[RecordId] | None = Field(
        None, min_length=1, max_length=MAX_REPLAYS, description="Ids of records; by default the newest searches."
    )
    ranking: RankingBody | None = Field(None, description="Settings of the ranking; by default the saved ones.")
