"""The code graph as a labelled property graph in a store that speaks Cypher: embedded, Neo4j or Memgraph."""
