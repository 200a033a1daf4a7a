"""The processes that a judge talks to: tenant, oracle and the memory that they share."""
