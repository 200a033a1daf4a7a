"""Admission tests of problems before they take submissions."""
