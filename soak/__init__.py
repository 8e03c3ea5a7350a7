"""The habit of attacking Hardy: `make soak SECONDS=3600`, a seeded slice of which runs in tests."""
