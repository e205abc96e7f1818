"""The parts of an audit of steps: each bets on one piece of a step."""
