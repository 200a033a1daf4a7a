"""A review case: its states, its log and every act on it."""
