"""The portal in a real Chromium: seen at three widths, in both languages and themes, walked by keyboard, asked by axe."""
