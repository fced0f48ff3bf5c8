"""Sizes of segments through the fast lane."""
