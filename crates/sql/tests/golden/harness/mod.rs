//! What the golden corpus and the random comparisons share: case files, tables from text, and ways to run a script.
//!
//! Nothing here looks at planning or operators: a script goes in, rows as text come out.

pub mod case;
pub mod run;
pub mod sink;
pub mod table;
