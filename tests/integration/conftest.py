"""What pytest must not look for doctests in."""

# Only its own environment can import it; legacy_predecessor_test.py runs it there.
collect_ignore = ["legacy_predecessor/make.py"]
