"""How far behind a committed offset was, in offsets and in time: end offsets, lag, time lag; every number says how it is known.

Computed by column, in one way: of a state or a report in `lags`, of the lake's tables in `batches`.
"""
