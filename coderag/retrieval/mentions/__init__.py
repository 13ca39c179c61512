"""Lines that mention a name: what is known of a name where the code graph has no edge."""
