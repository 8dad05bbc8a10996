"""The departmental compute ledger 用算账本: an append-only double-entry journal, posted by difference, and the reads that open it."""
