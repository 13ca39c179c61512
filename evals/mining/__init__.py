"""Golden sets mined from a repository's git history and tests."""

from .from_commits import mine_commits
from .from_tests import mine_tests
from .mined import DEFAULT_LIMIT, MiningResult, join_questions

__all__ = ["DEFAULT_LIMIT", "MiningResult", "join_questions", "mine_commits", "mine_tests"]
