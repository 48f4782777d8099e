"""Who holds what is still alive: one walk over the heap, autograd's graphs, names for the edges, the growing links."""
