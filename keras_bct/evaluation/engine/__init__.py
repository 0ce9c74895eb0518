"""How it is computed: passes over blocks of scores, and the bootstrap."""
