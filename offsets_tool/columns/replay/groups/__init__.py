"""Values of groups in a replay for histories, replayed at once: generations, epochs, members and assignments."""
