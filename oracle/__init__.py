"""Kafka's own classes as the authority: jars by digest, one JVM that answers questions, declarations read from the jars.

For tests and the benchmark; no part of what is installed.
"""
