"""The code graph as a labelled property graph, in a store that speaks Cypher: an embedded one, Neo4j or Memgraph."""
