"""The process that serves agents, programs and the command line on one address."""
