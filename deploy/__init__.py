"""Operator scripts: what starts, supervises and stops the parts on one machine. Nothing of the product imports this."""
