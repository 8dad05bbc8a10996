"""What it costs: prices and the departmental compute ledger. Reads governance, is never read by it."""
