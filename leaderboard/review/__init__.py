"""Implausible results and the decisions of people about them."""
