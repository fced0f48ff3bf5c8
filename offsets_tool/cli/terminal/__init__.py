"""What a terminal can show beyond text: colour and bold, and rows of blocks that draw a shape."""
