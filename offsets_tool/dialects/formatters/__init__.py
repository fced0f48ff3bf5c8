"""What the console consumer's formatters print of a record, by release."""
