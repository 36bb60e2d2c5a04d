"""One file per plugin of the default profile: what it refuses, in which words, and how it scores nodes."""
