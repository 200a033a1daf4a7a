"""Inputs and outputs of calls: layout, memory, comparison."""
