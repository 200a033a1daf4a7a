"""Data sets of verified kernels, for training."""
