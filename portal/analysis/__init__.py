"""Usage analysis: who used what, how well, over time, within what the reader may see."""
