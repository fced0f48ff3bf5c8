"""A lake's tables and views in a session, and questions to them in SQL."""
