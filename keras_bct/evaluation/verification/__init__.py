"""Accepting and rejecting pairs, and identifying queries in an open set."""
