"""Models behind an address: HTTP, JSON, and a page for people."""
