"""The models on this computer: where they lie, what they are, and whether they can be used."""
