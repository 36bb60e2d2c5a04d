"""Pod Security Standards: the checks of the baseline and restricted levels, and their texts."""
