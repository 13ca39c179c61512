"""Create a revision of the server's tables from the difference between the models and the newest revision.

    python tools/server/create_revision.py "Add the colour of a team"

Read the new file in ``coderag/server/storage/migrations/versions`` before you commit it: a renamed column is seen as a
removed and an added one, and rows are not moved. Then run the tests in ``tests/unit/server/storage``.
"""

import sys
import tempfile
from pathlib import Path

from alembic import command

from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import create_config, load_scripts, upgrade


def main(arguments: list[str]) -> int:
    """Create the revision; return the exit code."""
    if len(arguments) != 1:
        print('usage: create_revision.py "Add the colour of a team"', file=sys.stderr)
        return 2
    number = len(list(load_scripts().walk_revisions())) + 1
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'server.sqlite'}")
        if number > 1:
            upgrade(database)
        with database.engine.connect() as connection:
            command.revision(create_config(connection), arguments[0], autogenerate=True, rev_id=f"{number:04}")
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
