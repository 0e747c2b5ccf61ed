//! Windows: assignment, aggregates over shared slices, sessions, joins and ranks within windows.
