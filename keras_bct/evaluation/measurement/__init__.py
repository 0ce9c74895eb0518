"""Every metric of a protocol for a pair of sets, of groups and of versions."""
