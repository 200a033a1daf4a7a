"""State of the device and of the host during a run."""
