"""Who wins which prize: proposed from the final standing, confirmed by runs, approved and announced by organisers."""
