"""The sequential audit: bets, wealth, cells and the loop that owns their order."""
