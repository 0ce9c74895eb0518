"""Search indices over galleries: built, stored, opened and searched."""
