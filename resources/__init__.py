"""Icons, fonts, theme tokens and tables, and the one way to read them."""
