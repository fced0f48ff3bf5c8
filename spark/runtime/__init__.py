"""What a session needs: Java, jars, settings."""
