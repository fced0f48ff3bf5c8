"""From the tables of the fast lane to Arrow columns of `log` and `events`, as the reference decoder makes them."""
