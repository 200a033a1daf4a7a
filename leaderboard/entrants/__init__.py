"""Entrants: people and teams, each an entrant of one competition."""
