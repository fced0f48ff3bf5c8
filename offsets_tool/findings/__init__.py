"""Find what is wrong or odd in a log, from rows of histories, removals and transactions; each finding has its evidence.

One question a module, in the rooms `offsets`, `membership`, `transactions` and `log`; `finders` has them all. Opens no source.
"""
