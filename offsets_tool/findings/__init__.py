"""What is wrong or odd in a log, found in rows of histories, removals and transactions; each finding with its evidence.

One question a module, in the rooms `offsets`, `membership`, `transactions` and `log`; `finders` has them all. Opens no source.
"""
