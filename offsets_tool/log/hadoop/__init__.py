"""Hadoop's file systems as Arrow's: HDFS without a JVM (native), any other through Hadoop's own classes (jvm)."""
