"""Counterparts of the judge: tenant, oracle and the memory that they share."""
