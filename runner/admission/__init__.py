"""Admission tests: may a problem take submissions?"""
