"""What the texts of a moment mean, and what there is to say about the moment that was replayed to."""
