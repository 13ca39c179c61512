"""Answers by a language model: its reply taken apart into claims as it comes, each checked before it is shown."""
