"""Tables of the server and their database."""
