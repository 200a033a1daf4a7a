"""The host: accelerators, cores, containers, timing epoch and fitness."""
