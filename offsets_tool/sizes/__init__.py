"""Why a log is as large as it is: its bytes by group, and what compaction would leave of them."""
