"""Sessions of Spark: finds Java, fetches and verifies jars, and sets what every session needs. Knows nothing of lakes and jobs."""
