"""Which resources are served, how each is decoded, checked and stored, and the generic verbs on them."""
