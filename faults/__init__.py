"""The failure table: one folder per hop, one file per fault, found by walking the tree."""
