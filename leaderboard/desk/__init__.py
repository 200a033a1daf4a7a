"""The administrator's desk: acts of staff on people, names, code and quotas; search; undoing."""
