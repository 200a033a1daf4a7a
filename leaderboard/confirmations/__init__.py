"""Confirmations of records: five more runs of a candidate beside the incumbent, done by a runner."""
