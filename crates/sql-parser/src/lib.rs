//! Flink's SQL dialect: text to statements.
//!
//! [`parse_script`] turns a text into [`Parsed`] statements, [`split`] cuts it so that a runner can execute one statement after the
//! other although a later one does not parse, and [`is_complete`] tells a shell whether to go on reading lines. A [`Statement`] is
//! this crate's own; queries and expressions in it are `sqlparser`'s, with Flink's own forms rewritten to ordinary ones:
//! see [`normalize`] for each shape. Every error is a [`SqlError`] with a place, what was expected and, where it is evident, one edit.
//!
//! The crate resolves no names and knows no catalog. Identifiers keep their case (they are case sensitive in Flink); the names of
//! functions called without quotes come out in lower case. No input panics: nesting
//! is limited by [`MAX_NESTING`], chains of operators by [`MAX_CHAIN`].

mod ast;
mod cursor;
mod diagnostic;
mod dialect;
mod expression;
mod hints;
mod json;
mod limits;
mod literal;
mod mistake;
pub mod normalize;
mod script;
mod statement;
mod token;
mod types;
mod window;
mod words;

pub use ast::alter::{
    AddOrModify, AlterCatalog, AlterDatabase, AlterFunction, AlterTable, AlterTableAction, AlterView,
    AlterViewAction, CatalogAction, ColumnPosition, PositionedColumn,
};
pub use ast::create::{
    Column, ColumnKind, CreateCatalog, CreateDatabase, CreateFunction, CreateTable, CreateView, Distribution,
    DistributionKind, FunctionLanguage, Like, LikeBehaviour, LikeOption, LikeTarget, PrimaryKey, Resource,
    ResourceKind, TableSpec, Watermark,
};
pub use ast::show::{LikeFilter, Show, ShowObject};
pub use ast::{
    Analyze, Conflict, Delete, Describe, Drop, DropKind, Explain, ExplainDetail, Expression, Hint,
    HintTarget, Hints, Insert, Interval, Name, OptionEntry, PartitionEntry, Query, Statement, StopJob,
    Update,
};
pub use diagnostic::{SqlError, SqlErrorKind};
pub use expression::data_type as cast_data_type;
pub use limits::{MAX_CHAIN, MAX_NESTING};
pub use literal::interval_of;
pub use script::{Parsed, Piece, is_complete, parse_script, parse_statement, split};
pub use sqlparser::ast::Ident;
pub use sqlparser::tokenizer::{Location, Span};
pub use types::{cast_type, cast_unit, parse_type};
pub use window::{TableArgument, WindowKind, WindowTvf};
