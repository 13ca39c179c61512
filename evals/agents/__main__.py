"""`python -m evals.agents`: run agents on tasks, with CodeRAG's MCP tools or with grep and read, and compare what they need."""

import sys
from collections.abc import Sequence

from coderag.errors import CodeRAGError

from .arguments import build_parser
from .commands import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0, or 1 after an error."""
    options = build_parser().parse_args(arguments)
    try:
        return COMMANDS[options.name](options)
    except (CodeRAGError, OSError) as error:
        hint = getattr(error, "hint", "")
        print(f"error: {error}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
