(parameters name: (identifier) @bind)
