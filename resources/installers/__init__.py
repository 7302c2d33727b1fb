"""Recipes for installers: ``python -m resources.installers.build`` makes those of this system.

Needed only to build; neither the wheel nor the built program carries this package.
"""
