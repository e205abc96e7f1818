"""Figures as SVG: text in, text out, no library; the same on pages, in notebooks and in files."""
