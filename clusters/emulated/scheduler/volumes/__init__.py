"""Claims and volumes as the scheduler sees them: which volume a claim could get on a node, and binding it."""
