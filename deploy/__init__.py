"""Operator scripts that start, supervise and stop the parts on one machine. The product imports none of them."""
