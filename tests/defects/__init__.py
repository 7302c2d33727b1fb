"""Defects that programs like this one have had: put in on purpose, each must fail its tests."""
