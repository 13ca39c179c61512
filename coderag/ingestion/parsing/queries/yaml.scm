; Entries of the two upper levels whose value is structure. What is deeper or scalar is data; so is an entry on one line.
((document (block_node (block_mapping
  (block_mapping_pair key: (flow_node) @name value: (block_node [(block_mapping) (block_sequence)]) @body) @definition.key)))
  (#not-eq? @name "metadata"))
(document (block_node (block_mapping
  (block_mapping_pair key: (flow_node) @name value: (flow_node [(flow_mapping) (flow_sequence)]) @body) @definition.key)))

; What starts a workflow and what labels a Kubernetes object names nothing.
((document (block_node (block_mapping
  (block_mapping_pair key: (flow_node) @_outer value: (block_node (block_mapping
    (block_mapping_pair key: (flow_node) @name value: (block_node (block_mapping)) @body) @definition.key))))))
  (#not-eq? @_outer "on") (#not-eq? @_outer "metadata") (#not-eq? @name "selector"))

; What OpenAPI and AsyncAPI share between operations: `components.schemas.User`.
((document (block_node (block_mapping
  (block_mapping_pair key: (flow_node) @_outer value: (block_node (block_mapping
    (block_mapping_pair value: (block_node (block_mapping
      (block_mapping_pair key: (flow_node) @name value: (block_node (block_mapping)) @body) @definition.key)))))))))
  (#eq? @_outer "components"))

; A list of named items, such as an Ansible playbook.
((document (block_node (block_sequence (block_sequence_item (block_node (block_mapping
  . (block_mapping_pair key: (flow_node) @_key value: (flow_node) @name)))) @definition.key)))
  (#any-of? @_key "name" "id"))

; A Kubernetes object: `Deployment.web`.
((document (block_node (block_mapping
  (block_mapping_pair key: (flow_node) @_kind value: (flow_node) @receiver)
  . (block_mapping_pair key: (flow_node) @_metadata value: (block_node (block_mapping
    (block_mapping_pair key: (flow_node) @_name value: (flow_node) @name))) @body))) @definition.resource)
  (#eq? @_kind "kind") (#eq? @_metadata "metadata") (#eq? @_name "name"))

(comment) @comment
