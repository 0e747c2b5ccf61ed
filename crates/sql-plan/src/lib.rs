//! From SQL statements to job graphs.
