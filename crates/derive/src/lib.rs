//! `#[derive(Data)]`: the encoding and the schema of a struct or enum, from its fields. [`SqlRow`] makes columns of them.
//!
//! ```
//! # use flugs_derive::Data;
//! #[derive(Clone, Data)]
//! # #[data(crate = "flugs_batch")]
//! struct Order {
//!     id: u64,
//!     lines: Vec<Line>,
//!     note: Option<String>,
//!     #[data(default)]
//!     urgent: bool,
//! }
//!
//! #[derive(Clone, Data)]
//! # #[data(crate = "flugs_batch")]
//! enum Line {
//!     Article { name: String, price: f64 },
//!     Discount(f64),
//! }
//! # fn main() {}
//! ```
//!
//! Fields are written in the order of their declaration, variants by their ordinal. State that was written by an
//! older version of the type is read where the types still fit: fields may be removed, reordered, widened
//! (`u32` to `u64`, `T` to `Option<T>`) or added with a default, and variants may be added. `data::Transcoder` has the rules.
//!
//! # Attributes
//!
//! - `#[data(default)]` on a field: state that was written without the field gets `Default::default()`. An `Option` is
//!   `None` there without it.
//! - `#[data(crate = "path")]` on the type: the crate that has the module `data`, instead of `flugs`.
//!
//! # Generic types
//!
//! Every type parameter must be `Data`. A field whose type is an associated type of a parameter needs its own
//! `where` clause at the type.
//!
//! # What is refused
//!
//! Unions, since their bytes do not say which field they are:
//!
//! ```compile_fail
//! # use flugs_derive::Data;
//! #[derive(Clone, Copy, Data)]
//! #[data(crate = "flugs_batch")]
//! union Bits { int: u32, float: f32 }
//! # fn main() {}
//! ```
//!
//! Borrowed data, since a record outlives the step that made it:
//!
//! ```compile_fail
//! # use flugs_derive::Data;
//! #[derive(Clone, Data)]
//! #[data(crate = "flugs_batch")]
//! struct Line<'a> { text: &'a str }
//! # fn main() {}
//! ```
//!
//! Fields whose type is no `Data`, unknown attributes, and an attribute that is given twice:
//!
//! ```compile_fail
//! # use flugs_derive::Data;
//! #[derive(Clone, Data)]
//! #[data(crate = "flugs_batch")]
//! struct Pointer { at: *const u8 }
//! # fn main() {}
//! ```
//! ```compile_fail
//! # use flugs_derive::Data;
//! #[derive(Clone, Data)]
//! #[data(crate = "flugs_batch")]
//! struct Misspelt { #[data(defualt)] n: u64 }
//! # fn main() {}
//! ```
//! ```compile_fail
//! # use flugs_derive::Data;
//! #[derive(Clone, Data)]
//! #[data(crate = "flugs_batch")]
//! struct Twice { #[data(default, default)] n: u64 }
//! # fn main() {}
//! ```

mod attributes;
mod expand;
mod row;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `Data` for a struct or enum; see the crate's page.
#[proc_macro_derive(Data, attributes(data))]
pub fn derive_data(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::expand(&input).unwrap_or_else(|e| e.into_compile_error()).into()
}

/// Derives `SqlRow` for a struct: its fields are the columns of a table, under their names or those that they say.
///
/// ```
/// # use flugs_derive::SqlRow;
/// #[derive(SqlRow)]
/// # #[sql(crate = "flugs_sql_types")]
/// struct Order {
///     id: i64,
///     #[sql(name = "order_time")]
///     time: flugs_types::Timestamp,
///     tags: Vec<String>,
///     note: Option<String>,
///     customer: Customer,
/// }
///
/// #[derive(SqlRow)]
/// # #[sql(crate = "flugs_sql_types")]
/// struct Customer {
///     name: String,
/// }
///
/// use flugs_sql_types::SqlRow;
/// let columns: Vec<String> = Order::fields().iter().map(|f| format!("{} {}", f.name, f.sql_type)).collect();
/// assert_eq!(columns[1], "order_time TIMESTAMP_LTZ(6) NOT NULL");
/// assert_eq!(columns[3], "note STRING");
/// assert_eq!(columns[4], "customer ROW<`name` STRING NOT NULL> NOT NULL");
/// ```
///
/// The types of fields are those of `Cell`; a struct with this macro is one too, as a `ROW`. Of tuple structs the columns go by
/// their places. `#[sql(crate = "path")]` names the crate with the module `derived`, instead of `flugs::sql::types`.
///
/// Enums are refused, since a row has all of its columns:
///
/// ```compile_fail
/// # use flugs_derive::SqlRow;
/// #[derive(SqlRow)]
/// #[sql(crate = "flugs_sql_types")]
/// enum Event { Start(i64), End }
/// # fn main() {}
/// ```
#[proc_macro_derive(SqlRow, attributes(sql))]
pub fn derive_sql_row(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    row::expand(&input).unwrap_or_else(|e| e.into_compile_error()).into()
}
