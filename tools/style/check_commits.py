"""Check commit subjects: an imperative of at most 72 characters, without a full stop.

    python tools/style/check_commits.py [RANGE]

RANGE is one of git's, by default the newest commit alone. As a hook: ``check_commits.py --file .git/COMMIT_EDITMSG``.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

MAX_SUBJECT_CHARS = 72
_RULES = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
_VERBS = frozenset(_RULES["verbs"].split())
_SCOPE = re.compile(r"[a-z-]+: ")


def find_faults(subject: str) -> Iterator[str]:
    """Yield what is wrong with the subject of a commit."""
    if len(subject) > MAX_SUBJECT_CHARS:
        yield f"{len(subject)} characters, at most {MAX_SUBJECT_CHARS}"
    if subject.endswith("."):
        yield "ends in a full stop"
    first = _SCOPE.sub("", subject, count=1).split(maxsplit=1)[0] if subject.strip() else ""
    if first.lower() not in _VERBS:
        yield f"begins with {first!r}, not with an imperative (names.toml lists verbs)"


def _read_subjects(arguments: list[str]) -> list[str]:
    if arguments[:1] == ["--file"]:
        return Path(arguments[1]).read_text(encoding="utf-8").splitlines()[:1]
    selection = arguments[:1] or ["-1"]
    command = ["git", "log", "--no-merges", "--format=%s", *selection]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def main(arguments: list[str]) -> int:
    """Check the commits of a range, or a message in a file; return the exit code."""
    faults = [(subject, fault) for subject in _read_subjects(arguments) for fault in find_faults(subject)]
    for subject, fault in faults:
        print(f"commit {subject!r}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
