(parameter . (identifier) @bind)
