"""Import of SCIP indexes, which compilers produce, as edges of the code graph."""
