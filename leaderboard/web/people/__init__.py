"""People: profiles, pages of entrants, comparison of entries, notifications, search, problems."""
