"""Plots drawn by pyqtgraph; imported in a thread once the panel stands (`plot_slot`)."""
