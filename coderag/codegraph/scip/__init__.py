"""Indexes made by compilers in the SCIP format, as edges of the code graph."""
