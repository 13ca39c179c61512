; What C has beyond c_family.graph.scm: its types.
(_ type: [
  (type_identifier)
  (struct_specifier !body)
  (union_specifier !body)
  (enum_specifier !body)
] @type)
