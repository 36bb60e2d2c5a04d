"""What `pytest suites/` runs: the failure table, and one folder per hop with deeper tests."""
