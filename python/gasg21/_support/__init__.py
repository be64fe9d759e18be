"""Small helpers without knowledge of data or algorithms."""
