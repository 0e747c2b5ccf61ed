//! Joins of changing tables: regular, interval, temporal, lookup; and correlated table functions.
