"""What is published: one table, one writer, one order."""
