"""The compiled inner loops. Only functions that run one import its file."""
