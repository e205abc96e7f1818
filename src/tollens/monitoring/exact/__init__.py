"""The exact method: bets on rungs of memory, and a prior on the time of the break."""
