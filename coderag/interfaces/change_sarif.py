"""Review of a change as SARIF 2.1.0: code that uses a removed or changed declaration and is not changed with it.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from coderag import __version__
from coderag.schema.change_review import BREAKING_CHANGES, ChangeReview, Dependent, ReviewedDeclaration
from coderag.schema.mentions import NameMention

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT_ID: Final = "SRCROOT"
_RULES: Final = (
    (
        "signature-changed",
        "UnchangedUserOfChangedSignature",
        "The signature changed, and this code that uses it did not.",
    ),
    ("declaration-removed", "UserOfRemovedDeclaration", "The declaration is gone, and this code still names it."),
)
_RULE_INDEXES: Final = {rule: index for index, (rule, _, _) in enumerate(_RULES)}


def build_sarif(review: ChangeReview) -> dict[str, Any]:
    """Build the SARIF log of a review; its results are notes."""
    rules = [
        {"id": rule, "name": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": "note"}}
        for rule, name, text in _RULES
    ]
    run = {
        "tool": {"driver": {"name": "CodeRAG", "semanticVersion": __version__, "rules": rules}},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {_ROOT_ID: {"description": {"text": "Root of the repository."}}},
        "results": [result for declaration in review.declarations for result in _build_results(declaration)],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _build_results(declaration: ReviewedDeclaration) -> Iterator[dict[str, Any]]:
    """Yield a result for each unchanged user of a declaration whose change may break it."""
    if declaration.change.change not in BREAKING_CHANGES:
        return
    rule = "signature-changed" if declaration.change.change == "signature" else "declaration-removed"
    for dependent in declaration.dependents:
        if dependent.is_resolved and not dependent.is_changed:
            yield _build_dependent_result(rule, declaration, dependent)
    if rule == "declaration-removed":
        for mention in declaration.mentions:
            yield _build_mention_result(rule, declaration, mention)


def _build_dependent_result(rule: str, declaration: ReviewedDeclaration, dependent: Dependent) -> dict[str, Any]:
    neighbour = dependent.neighbour
    text = (
        f"{neighbour.qualified_name} depends on {declaration.change.qualified_name} "
        f"({neighbour.relation.replace('_', ' ')}, {neighbour.resolver} {neighbour.confidence:.2f}). "
        f"{_describe_change(declaration)}"
    )
    place = (neighbour.evidence or neighbour.path, neighbour.line)
    return {
        **_build_result(rule, declaration, text, place, neighbour.qualified_name),
        "rank": round(100 * neighbour.confidence, 1),
    }


def _build_mention_result(rule: str, declaration: ReviewedDeclaration, mention: NameMention) -> dict[str, Any]:
    text = f"This line names {declaration.change.qualified_name}. {_describe_change(declaration)}"
    return _build_result(rule, declaration, text, (mention.path, mention.line), mention.symbol)


def _describe_change(declaration: ReviewedDeclaration) -> str:
    change = declaration.change
    if change.change == "removed":
        return f"It was removed from {change.path}."
    return f"Its signature was `{change.old_signature}` and is `{change.new_signature}`."


def _build_result(
    rule: str, declaration: ReviewedDeclaration, text: str, place: tuple[str, int], user: str
) -> dict[str, Any]:
    change = declaration.change
    identity = "\0".join((rule, change.path, change.qualified_name, place[0], user))
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": _RULE_INDEXES[rule],
        "level": "note",
        "message": {"text": text},
        "locations": [_build_location(*place)],
        "partialFingerprints": {"coderagUser/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()},
    }
    if change.change == "signature":
        related = _build_location(change.path, declaration.line)
        result["relatedLocations"] = [{"id": 1, **related, "message": {"text": "The changed declaration."}}]
    return result


def _build_location(path: str, line: int) -> dict[str, Any]:
    uri = quote(path.encode("utf-8", "surrogateescape"))
    artifact = {"uri": uri, "uriBaseId": _ROOT_ID}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(line, 1)}}}
