"""Web interface: its pages, and the sign-in of browsers."""
