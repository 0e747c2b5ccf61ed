//! Statements. What is in them is text, names and expressions: nothing is resolved yet.

pub mod alter;
pub mod create;
pub mod show;

use alter::{AlterCatalog, AlterDatabase, AlterFunction, AlterTable, AlterView};
use create::{CreateCatalog, CreateDatabase, CreateFunction, CreateTable, CreateView};
use show::Show;
use sqlparser::ast::{self, Ident, ObjectName, ObjectNamePart, Select};
use sqlparser::tokenizer::Span;
use std::fmt;

/// One statement of Flink's SQL, or a command of the shell.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `SELECT`, `WITH`, `VALUES`, `TABLE t`.
    Query(Query),
    /// `INSERT INTO` or `INSERT OVERWRITE`.
    Insert(Insert),
    /// `EXECUTE STATEMENT SET BEGIN ... END` or `BEGIN STATEMENT SET; ... END`: run as one job.
    StatementSet(Vec<Insert>),
    /// `CREATE TABLE`.
    CreateTable(Box<CreateTable>),
    /// `CREATE VIEW`.
    CreateView(CreateView),
    /// `CREATE FUNCTION`.
    CreateFunction(CreateFunction),
    /// `CREATE CATALOG`.
    CreateCatalog(CreateCatalog),
    /// `CREATE DATABASE`.
    CreateDatabase(CreateDatabase),
    /// `ALTER TABLE`.
    AlterTable(AlterTable),
    /// `ALTER VIEW`.
    AlterView(AlterView),
    /// `ALTER FUNCTION`.
    AlterFunction(AlterFunction),
    /// `ALTER CATALOG`.
    AlterCatalog(AlterCatalog),
    /// `ALTER DATABASE`.
    AlterDatabase(AlterDatabase),
    /// `DROP` of anything.
    Drop(Drop),
    /// `EXPLAIN`.
    Explain(Explain),
    /// `DESCRIBE` or `DESC`.
    Describe(Describe),
    /// `SHOW`.
    Show(Show),
    /// `USE CATALOG c`.
    UseCatalog(Ident),
    /// `USE [catalog.]database`.
    UseDatabase(Name),
    /// `SET 'k' = 'v'`.
    Set {
        /// The option's key.
        key: String,
        /// Its new value.
        value: String,
    },
    /// `SET` alone: show what is set.
    ShowOptions,
    /// `RESET 'k'`, or `RESET` alone, which resets everything.
    Reset(Option<String>),
    /// `STOP JOB`.
    StopJob(StopJob),
    /// `ANALYZE TABLE`.
    Analyze(Analyze),
    /// `TRUNCATE TABLE t`.
    Truncate(Name),
    /// `DELETE FROM`.
    Delete(Delete),
    /// `UPDATE t SET`.
    Update(Update),
    /// `HELP`.
    Help,
    /// `QUIT` or `EXIT`.
    Quit,
    /// `CLEAR`.
    Clear,
}

/// A name of one or more parts: `[catalog.][database.]object`. Displays with back-quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name(pub Vec<Ident>);

impl Name {
    /// The values of the parts.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|ident| ident.value.as_str())
    }

    /// The last part.
    pub fn object(&self) -> &str {
        self.0.last().map_or("", |ident| &ident.value)
    }

    /// From the first part to the last.
    pub fn span(&self) -> Span {
        Span::union_iter(self.0.iter().map(|ident| ident.span))
    }

    /// The same name as `sqlparser` has it.
    pub fn to_object_name(&self) -> ObjectName {
        ObjectName(self.0.iter().cloned().map(ObjectNamePart::Identifier).collect())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.parts().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            write!(f, "{dot}`{}`", part.replace('`', "``"))?;
        }
        Ok(())
    }
}

/// A normalized query (see [`crate::normalize`]) and what stands beside the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The query.
    pub ast: Box<ast::Query>,
    /// The hints in it.
    pub hints: Hints,
    /// The `WITHIN` interval of each `MATCH_RECOGNIZE`, with the span of its `WITHIN`, in the order of the text.
    pub match_within: Vec<(Span, Interval)>,
    /// The text as it was written, hints and comments included: what a catalog stores of a view.
    pub text: String,
    /// Where the text stands.
    pub span: Span,
}

/// A normalized expression and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// The expression.
    pub ast: ast::Expr,
    /// The text as it was written.
    pub text: String,
    /// Where the text stands.
    pub span: Span,
}

/// The length of an interval literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interval {
    /// Of `INTERVAL ... YEAR TO MONTH` and its like.
    Months(i64),
    /// Milliseconds, of `INTERVAL ... DAY TO SECOND` and its like.
    Millis(i64),
}

/// `INSERT INTO t`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The table written to.
    pub target: Name,
    /// `INSERT OVERWRITE`.
    pub overwrite: bool,
    /// `PARTITION (k = v, ...)`; empty where there is none.
    pub partition: Vec<PartitionEntry>,
    /// The column list, each name of one or more parts (fields of a row); empty where there is none.
    pub columns: Vec<Name>,
    /// What is written.
    pub source: Query,
    /// The hints behind the target; those of the source are in [`Query::hints`].
    pub hints: Vec<Hint>,
    /// `ON CONFLICT DO ...`.
    pub conflict: Option<Conflict>,
    /// Where the statement stands.
    pub span: Span,
}

/// What `INSERT ... ON CONFLICT DO` says (Flink 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// `NOTHING`: the first row of a key stays.
    Nothing,
    /// `ERROR`: a second row of a key fails the job.
    Error,
    /// `DEDUPLICATE`: the last row of a key stays.
    Deduplicate,
}

/// One `k = v` or `k` of a partition list.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionEntry {
    /// The partition column.
    pub column: Ident,
    /// Its value, a literal; none where any value is meant.
    pub value: Option<ast::Expr>,
}

/// One `'key' = 'value'` of a `WITH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionEntry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// Where the key stands.
    pub key_span: Span,
    /// Where the value stands.
    pub value_span: Span,
}

/// One `NAME(args)` of a `/*+ ... */` comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// `OPTIONS`, `STATE_TTL`, `LOOKUP`, `BROADCAST` ...: in upper case.
    pub name: String,
    /// The arguments of the form `'k' = 'v'` (the key may be an identifier).
    pub options: Vec<OptionEntry>,
    /// The arguments that are one name or string.
    pub arguments: Vec<String>,
    /// Where the hint's name stands.
    pub span: Span,
    /// What the hint is about.
    pub target: HintTarget,
}

/// What a hint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintTarget {
    /// A `SELECT`: the span is that of the word `SELECT` (`Select::select_token`).
    Select(Span),
    /// A table reference: the span is that of the last identifier of its name.
    Table(Span),
}

/// The hints of a query, by what they are about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints(pub Vec<Hint>);

impl Hints {
    /// The hints of a `SELECT`.
    pub fn of_select<'a>(&'a self, select: &Select) -> impl Iterator<Item = &'a Hint> {
        let target = HintTarget::Select(select.select_token.0.span);
        self.0.iter().filter(move |hint| hint.target == target)
    }

    /// The hints behind a table's name in a `FROM`.
    pub fn of_table<'a>(&'a self, name: &ObjectName) -> impl Iterator<Item = &'a Hint> {
        let last = name.0.last().and_then(|part| part.as_ident()).map(|ident| HintTarget::Table(ident.span));
        self.0.iter().filter(move |hint| Some(hint.target) == last)
    }
}

/// What `DROP` drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropKind {
    /// `DROP CATALOG`.
    Catalog,
    /// `DROP DATABASE`.
    Database,
    /// `DROP TABLE`.
    Table,
    /// `DROP VIEW`.
    View,
    /// `DROP FUNCTION`.
    Function,
}

/// `DROP [TEMPORARY [SYSTEM]] kind [IF EXISTS] name [RESTRICT | CASCADE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drop {
    /// What kind of object.
    pub kind: DropKind,
    /// Its name.
    pub name: Name,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `TEMPORARY SYSTEM FUNCTION`.
    pub system: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `CASCADE`: also what is in it.
    pub cascade: bool,
}

/// `EXPLAIN`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// What is to be shown besides the plan.
    pub details: Vec<ExplainDetail>,
    /// What is explained: a query, an insert, a statement set or a `CREATE TABLE ... AS`.
    pub statement: Box<Statement>,
}

/// What `EXPLAIN` shows besides the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExplainDetail {
    /// `ESTIMATED_COST`.
    EstimatedCost,
    /// `CHANGELOG_MODE`.
    ChangelogMode,
    /// `JSON_EXECUTION_PLAN`.
    JsonExecutionPlan,
    /// `PLAN_ADVICE`.
    PlanAdvice,
}

/// `DESCRIBE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Describe {
    /// `DESCRIBE t`: a table or view.
    Table(Name),
    /// `DESCRIBE CATALOG [EXTENDED] c`.
    Catalog {
        /// The catalog.
        name: Ident,
        /// `EXTENDED`.
        extended: bool,
    },
    /// `DESCRIBE DATABASE [EXTENDED] d`.
    Database {
        /// The database.
        name: Name,
        /// `EXTENDED`.
        extended: bool,
    },
    /// `DESCRIBE FUNCTION [EXTENDED] f`.
    Function {
        /// The function.
        name: Name,
        /// `EXTENDED`.
        extended: bool,
    },
    /// `DESCRIBE JOB 'id'`.
    Job(String),
}

/// `STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopJob {
    /// The job's id.
    pub id: String,
    /// `WITH SAVEPOINT`.
    pub savepoint: bool,
    /// `WITH DRAIN`: event time goes to its end first.
    pub drain: bool,
}

/// `ANALYZE TABLE t [PARTITION (..)] COMPUTE STATISTICS [FOR COLUMNS .. | FOR ALL COLUMNS]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Analyze {
    /// The table.
    pub table: Name,
    /// The partitions; empty means all.
    pub partition: Vec<PartitionEntry>,
    /// The columns; empty where there is none or [`Analyze::all_columns`] holds.
    pub columns: Vec<Ident>,
    /// `FOR ALL COLUMNS`.
    pub all_columns: bool,
}

/// `DELETE FROM t [WHERE c]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The table.
    pub table: Name,
    /// Which rows; none means all.
    pub selection: Option<Expression>,
}

/// `UPDATE t SET c = e, ... [WHERE c]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The table.
    pub table: Name,
    /// Columns and their new values.
    pub assignments: Vec<(Ident, Expression)>,
    /// Which rows; none means all.
    pub selection: Option<Expression>,
}
