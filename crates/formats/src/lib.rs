//! JSON Lines, CSV and line formats for typed records.
