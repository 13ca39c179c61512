"""What commands print: results, progress, errors."""
