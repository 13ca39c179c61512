"""Documents of a git repository as items, read from its objects without a working tree."""

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Final

import yaml

from coderag.schema.items import Item
from evals.graph.ground_truth import EvaluationError
from evals.items.questions import DocumentTree

_HEADING: Final = re.compile(r"^#\s+(\S.*)$", re.MULTILINE)
_RST_TITLE: Final = re.compile(r"^(\S.*)\n([=\-~^\"*#])\2{2,}\s*$", re.MULTILINE)
_METADATA_FILE: Final = "kep.yaml"


def read_items(tree: DocumentTree, repository: Path) -> list[Item]:
    """Read the documents of a tree as items: pages, or tickets with a status where a file beside them says it.

    Raises:
        EvaluationError: The repository lacks the revision, or has no such documents.
    """
    files = dict(_read_files(tree, repository))
    items = [_build_item(tree, path, files) for path in sorted(files) if not path.endswith(_METADATA_FILE)]
    if not items:
        raise EvaluationError(f"{repository} has no documents {', '.join(tree.include)} at {tree.revision[:12]}")
    return items


def _read_files(tree: DocumentTree, repository: Path) -> Iterator[tuple[str, str]]:
    folders = sorted({pattern.split("/")[0] for pattern in tree.include})
    command = ["git", "-C", str(repository), "archive", "--format=tar", tree.revision, "--", *folders]
    result = subprocess.run(command, capture_output=True, check=False)  # fixed arguments
    if result.returncode:
        message = result.stderr.decode("utf-8", "replace").strip()
        raise EvaluationError(f"{repository}: {message or 'git archive failed'}; fetch {tree.repository} there")
    matches = _compile_globs(tree.include)
    with tarfile.open(fileobj=io.BytesIO(result.stdout)) as archive:
        for member in archive:
            is_metadata = member.name.endswith(f"/{_METADATA_FILE}")
            if member.isfile() and (is_metadata or matches.fullmatch(member.name)):
                file = archive.extractfile(member)
                yield member.name, file.read().decode("utf-8", "replace") if file else ""


def _compile_globs(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.replace("**/", "*")) for pattern in patterns))


def _build_item(tree: DocumentTree, path: str, files: dict[str, str]) -> Item:
    text = files[path]
    folder = path.rpartition("/")[0]
    metadata = _parse_metadata(files.get(f"{folder}/{_METADATA_FILE}", ""))
    return Item(
        id=path,
        kind="ticket" if tree.kind == "backlog" else "page",
        title=str(metadata.get("title") or "") or _find_title(path, text),
        text=text,
        url=f"https://github.com/{tree.repository}/blob/{tree.revision}/{path}",
        revision=tree.revision[:12],
        status=str(metadata.get("status") or ""),
        labels=tuple(filter(None, [str(metadata.get("owning-sig") or "")])),
    )


def _parse_metadata(text: str) -> dict[str, object]:
    try:
        parsed = yaml.load(text, Loader=yaml.BaseLoader) if text else None  # noqa: S506  # texts only; some dates are invalid
    except yaml.YAMLError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _find_title(path: str, text: str) -> str:
    """Find the title of a document; without a heading at its top, its name in words."""
    pattern = _RST_TITLE if path.endswith(".rst") else _HEADING
    heading = pattern.search(text)
    if heading and text[: heading.start()].count("\n") < 20 and heading[1].lower() != "summary":
        return heading[1].strip()
    name = path.rpartition("/")[2].rpartition(".")[0]
    return name.replace("-", " ").replace("_", " ")
