"""Gather an incident review of an evidence in one value: verdict, coverage, findings, stories, plan, cited records.

The commands diagnose, timeline, explain and plan take their parts from here, a report and a notebook all of it. Shows nothing:
names stay as they were decoded.
"""
