"""The team server over HTTP: authentication, access, audit, and the routes of its administration."""
