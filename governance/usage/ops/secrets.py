"""What looks like a secret. A connection names where a secret lies; the secret itself is refused and never shown again."""

from __future__ import annotations

import re

#: Shorter words are names; longer ones that mix letters and digits as chance does are keys.
LONGEST_NAME = 20
_SHAPES = re.compile(
    r"-----BEGIN|eyJ[\w-]{6,}\.[\w-]{6,}|://[^/\s@]*:[^/\s@]+@|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abpr]-|AKIA|sk-)\w{8,}"
    r"|\b(?:password|passwd|pwd|secret|token|api[_-]?key)\s*[=:]\s*\S|\b(?:bearer|basic)\s+[\w.~+/=-]{6,}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9+=]+")


def looks_secret(text: str) -> bool:
    """Whether the text holds a key, a token, a password in an address, or a word that nobody would give as a name."""
    return bool(_SHAPES.search(text)) or any(_is_random(word) for word in _WORD.findall(text))


def _is_random(word: str) -> bool:
    if len(word) < LONGEST_NAME:
        return False
    letters, digits = sum(c.isalpha() for c in word), sum(c.isdigit() for c in word)
    mixed = word.lower() != word != word.upper()
    return (letters > 0 and digits > 0 and min(letters, digits) * 8 >= len(word)) or (mixed and digits > 0)
