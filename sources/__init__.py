"""Where documents come from: listings, bytes, and what is said about each document."""
