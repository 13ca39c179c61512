"""Files of a repository: scan, ignore rules, content and changes."""
