"""Data sets of verified kernels as folders: columns, near duplicates, splits, files. Knows no site."""
