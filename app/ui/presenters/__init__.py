"""Between the views and what they show: each presenter looks after one part of the window.

Views emit what the user asks for and show frozen values; stores, engine and settings know no
views. A presenter connects the two and holds no widget of its own.
"""
