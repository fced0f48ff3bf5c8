"""What kafka-dump-log prints of a segment, by release."""
