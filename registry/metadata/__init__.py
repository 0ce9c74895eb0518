"""The metadata database: its tables, its migrations and how it is reached."""
