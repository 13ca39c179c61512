"""Repositories by git URL: credentials, mirrors and checks of their addresses."""
