"""Who defines, calls and imports what."""
