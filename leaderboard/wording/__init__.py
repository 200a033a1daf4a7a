"""Words and numbers for people: one copy for the pages and the command line. Imports the standard library only."""
