"""Records of classic groups in a replay for histories: each is a generation with all its members, replayed at once."""
