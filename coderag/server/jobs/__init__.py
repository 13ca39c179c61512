"""Background jobs that fetch and index repositories, fairly between teams."""
