"""People: who they are and the tokens they act by."""
