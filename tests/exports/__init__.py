"""Exports: small ones at once, large ones in the background; nothing in them that their reader does not see."""
