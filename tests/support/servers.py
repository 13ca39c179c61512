"""A team server's settings, database and key in a folder of a test."""

from coderag.server.sealing import create_master_key
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import upgrade
from tests.support.server_rows import insert_rows


def create_settings(folder, database_url=""):
    """Return settings with their data in a folder; an URL of SQLite is left out, as the folder has it."""
    url = "" if database_url.startswith("sqlite") else database_url
    return ServerSettings.load(data=folder, database_url=url)


def create_server(folder, database_url=""):
    """Create the database with rows in all tables, and the key; return the settings."""
    settings = create_settings(folder, database_url)
    create_master_key(folder / "master.key")
    database = Database(settings.url)
    upgrade(database)
    insert_rows(database)
    database.close()
    return settings
