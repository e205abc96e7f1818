"""The published method: a studentised statistic of given events and its quantiles."""
