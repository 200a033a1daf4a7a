"""People: accounts, logins and tokens."""
