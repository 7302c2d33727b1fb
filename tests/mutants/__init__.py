"""Small deliberate faults in the physics and the statistics, one at a time: do tests see them?"""
