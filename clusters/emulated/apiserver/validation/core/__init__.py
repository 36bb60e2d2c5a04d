"""The kinds of the core group, one file each; `core_kinds` lists them."""
