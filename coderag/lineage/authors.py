"""Authors of a subject: whose lines it has, and whose commits changed it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from coderag.schema.lineage import AuthorShare, Commit


@dataclass(slots=True)
class _Share:
    author: str
    email: str
    first_time: datetime
    last_time: datetime
    lines: int = 0
    commits: int = 0


def rank_authors(commits: Iterable[Commit], lines: Iterable[tuple[Commit, int]]) -> list[AuthorShare]:
    """Rank the authors of a subject: those of most of its lines first, then of most commits, then the latest.

    Args:
        commits: Commits that changed it.
        lines: Commits that introduced its lines, with the number of lines.
    """
    shares: dict[str, _Share] = {}

    def get_share(commit: Commit) -> _Share:
        key = commit.email.lower() or commit.author
        share = shares.setdefault(key, _Share(commit.author, commit.email, commit.time, commit.time))
        share.first_time, share.last_time = min(share.first_time, commit.time), max(share.last_time, commit.time)
        return share

    counted = set()
    for commit in commits:
        if commit.id not in counted:
            counted.add(commit.id)
            get_share(commit).commits += 1
    for commit, count in lines:
        get_share(commit).lines += count
    ranked = sorted(shares.values(), key=lambda share: (-share.lines, -share.commits, -share.last_time.timestamp()))
    return [
        AuthorShare(share.author, share.email, share.lines, share.commits, share.first_time, share.last_time)
        for share in ranked
    ]
