"""Winners of prizes: proposed from the final standing, confirmed by runs, approved and announced by organisers."""
