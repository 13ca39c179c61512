"""Processes, event loops, files, git and streams of the operating system."""
