"""Who competes: people and teams, one entrant a competition each."""
