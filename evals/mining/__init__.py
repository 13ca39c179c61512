"""Golden sets from what a repository has already: its history in git, and its tests."""

from .from_commits import mine_commits
from .from_tests import mine_tests
from .mined import LIMIT, Mined, joined

__all__ = ["LIMIT", "Mined", "joined", "mine_commits", "mine_tests"]
