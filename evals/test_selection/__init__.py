"""Measurement of test selection: past commits whose tests failed before the change."""
