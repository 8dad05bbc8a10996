"""What the figures do not cover yet (unclaimed use, runs in no pool, unread records) and the way out of each. Spans usage and money."""
