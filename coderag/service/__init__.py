"""The warm service from the outside: where it is found, how it is asked. Imports nothing slow."""
