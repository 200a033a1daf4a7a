"""Pages of the administrator's desk, for staff, and Django's admin, for superusers."""
