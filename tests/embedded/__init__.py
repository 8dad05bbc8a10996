"""The embedded services and the supervisor, each test in a home of its own whose path has spaces."""
