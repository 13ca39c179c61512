"""The service process for agents, programs and the command line."""
