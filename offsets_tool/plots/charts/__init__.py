"""The pictures one by one, a module each: what is drawn of which rows, and the sentence that counts the same rows."""
