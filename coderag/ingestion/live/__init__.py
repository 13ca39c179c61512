"""Files edited since the last generation: detection, and chunks computed while a query runs."""
