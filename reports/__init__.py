"""What people look at: the Allure report, the twelve-hop trace, the timeline and the runbooks."""
