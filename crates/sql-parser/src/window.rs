//! Window table functions: `TUMBLE`, `HOP`, `CUMULATE` and `SESSION` in a `FROM`.

use crate::ast::Interval;
use crate::cursor::function;
use crate::diagnostic::{SqlError, SqlErrorKind};
use crate::expression::{TABLE_ARGUMENT, of_query};
use crate::literal::{interval_of, interval_span};
use crate::words;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, OrderByExpr, SetExpr, TableAlias, TableFactor,
};
use sqlparser::tokenizer::Span;

/// A window table function of a `FROM`, read from its normalized shape by [`WindowTvf::of`].
#[derive(Debug, Clone, PartialEq)]
pub struct WindowTvf<'a> {
    /// Which windows.
    pub kind: WindowKind,
    /// What they are over: a `TableFactor::Table`, or a `TableFactor::Derived` without an alias.
    pub input: &'a TableFactor,
    /// The column of `DESCRIPTOR(...)`: an `Expr::Identifier` or `Expr::CompoundIdentifier`.
    pub time_column: &'a Expr,
    /// The expressions of `PARTITION BY`.
    pub partition_by: Vec<&'a Expr>,
    /// By how much windows begin after the epoch, in milliseconds; may be negative.
    pub offset_ms: i64,
    /// The alias of the result.
    pub alias: Option<&'a TableAlias>,
    /// Where the function's name stands.
    pub span: Span,
}

/// Which windows a window table function makes. All lengths are milliseconds and above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// `TUMBLE(data, time, size [, offset])`.
    Tumble {
        /// The length of a window.
        size_ms: i64,
    },
    /// `HOP(data, time, slide, size [, offset])`.
    Hop {
        /// From the start of one window to that of the next.
        slide_ms: i64,
        /// The length of a window.
        size_ms: i64,
    },
    /// `CUMULATE(data, time, step, size [, offset])`.
    Cumulate {
        /// By how much a window grows.
        step_ms: i64,
        /// The length of the longest.
        size_ms: i64,
    },
    /// `SESSION(data, time, gap)`.
    Session {
        /// The silence that ends a session.
        gap_ms: i64,
    },
}

/// `TABLE t [PARTITION BY ...] [ORDER BY ...]` as an argument of a table function.
#[derive(Debug, Clone, PartialEq)]
pub struct TableArgument<'a> {
    /// The table or subquery.
    pub input: &'a TableFactor,
    /// `PARTITION BY`.
    pub partition_by: Vec<&'a Expr>,
    /// `ORDER BY`.
    pub order_by: &'a [OrderByExpr],
}

impl<'a> TableArgument<'a> {
    /// The table argument that an expression stands for.
    pub fn of(expr: &'a Expr) -> Option<Self> {
        let Expr::Function(call) = expr else { return None };
        let FunctionArguments::List(list) = &call.args else { return None };
        let mut args = plain_args(call, TABLE_ARGUMENT)?;
        let Some(Expr::Subquery(query)) = args.next() else { return None };
        let SetExpr::Select(select) = &*query.body else { return None };
        let order_by = match list.clauses.first() {
            Some(FunctionArgumentClause::OrderBy(keys)) => keys.as_slice(),
            _ => &[],
        };
        Some(TableArgument { input: &select.from.first()?.relation, partition_by: args.collect(), order_by })
    }
}

/// The unnamed arguments of a call of `name`.
fn plain_args<'a>(call: &'a Function, name: &str) -> Option<impl Iterator<Item = &'a Expr> + use<'a>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let exprs = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    (name_of(&call.name)?.value == name).then_some(exprs)
}

fn name_of(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}

/// The argument names of a window table function, how many of them must be there, and which one is the only length.
fn parameters(name: &str) -> Option<(&'static [&'static str], usize)> {
    match name {
        "tumble" => Some((&["DATA", "TIMECOL", "SIZE", "OFFSET"], 3)),
        "hop" => Some((&["DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"], 4)),
        "cumulate" => Some((&["DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"], 4)),
        "session" => Some((&["DATA", "TIMECOL", "GAP"], 3)),
        _ => None,
    }
}

impl<'a> WindowTvf<'a> {
    /// The window table function that a normalized table factor is, if it is one.
    pub fn of(factor: &'a TableFactor) -> Option<Self> {
        let TableFactor::TableFunction { expr: Expr::Function(call), alias } = factor else { return None };
        let name = name_of(&call.name)?;
        parameters(&name.value)?;
        let FunctionArguments::List(list) = &call.args else { return None };
        let named = |wanted: &str| {
            list.args.iter().find_map(|arg| match arg {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } if name.value == wanted => {
                    Some(expr)
                }
                _ => None,
            })
        };
        let millis = |wanted: &str| match interval_of(named(wanted)?)? {
            Interval::Millis(n) => Some(n),
            Interval::Months(_) => None,
        };
        let kind = match name.value.as_str() {
            "tumble" => WindowKind::Tumble { size_ms: millis("SIZE")? },
            "hop" => WindowKind::Hop { slide_ms: millis("SLIDE")?, size_ms: millis("SIZE")? },
            "cumulate" => WindowKind::Cumulate { step_ms: millis("STEP")?, size_ms: millis("SIZE")? },
            _ => WindowKind::Session { gap_ms: millis("GAP")? },
        };
        let data = TableArgument::of(named("DATA")?)?;
        let Expr::Function(descriptor) = named("TIMECOL")? else { return None };
        Some(WindowTvf {
            kind,
            input: data.input,
            time_column: plain_args(descriptor, "descriptor")?.next()?,
            partition_by: data.partition_by,
            offset_ms: millis("OFFSET").unwrap_or(0),
            alias: alias.as_ref(),
            span: name.span,
        })
    }
}

/// Brings a call of a window table function into its one shape: every argument named, in order, checked.
/// Calls of other functions stay as they are.
pub(crate) fn canonical(call: &mut Function) -> Result<(), SqlError> {
    let Some(name) = name_of(&call.name).cloned() else { return Ok(()) };
    let Some((parameters, required)) = parameters(&name.value) else { return Ok(()) };
    let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
    let shown = name.value.to_uppercase();
    let form = format!("write it as {}", form(&shown));
    let mut found: Vec<Option<Expr>> = vec![None; parameters.len()];
    for (i, arg) in std::mem::take(&mut list.args).into_iter().enumerate() {
        let (index, expr) = match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (i, expr),
            FunctionArg::Named { name: key, arg: FunctionArgExpr::Expr(expr), .. } => {
                let index = parameters.iter().position(|p| p.eq_ignore_ascii_case(&key.value));
                (index.ok_or_else(|| unknown_argument(&shown, &key, parameters))?, expr)
            }
            _ => {
                return Err(SqlError::syntax(format!("{shown} takes no such argument"))
                    .at(name.span)
                    .help(form));
            }
        };
        match found.get_mut(index) {
            Some(slot @ None) => *slot = Some(expr),
            Some(_) => {
                let message = format!("{shown} has its argument {} twice", parameters[index]);
                return Err(SqlError::syntax(message).at(name.span).help(form));
            }
            None => {
                return Err(SqlError::syntax(format!("{shown} has too many arguments"))
                    .at(name.span)
                    .help(form));
            }
        }
    }
    if let Some(table) = &mut found[0]
        && let Expr::Subquery(query) = table
    {
        *table = of_query(query.clone(), name.span);
    }
    for (parameter, expr) in parameters.iter().zip(&found) {
        check(&shown, parameter, expr.as_ref(), &name, &form)?;
    }
    if let Some(missing) = found[..required].iter().position(Option::is_none) {
        let message = format!("{shown} misses its argument {}", parameters[missing]);
        return Err(SqlError::syntax(message).at(name.span).help(form));
    }
    let args = parameters.iter().zip(found).filter_map(|(parameter, expr)| {
        Some(FunctionArg::Named {
            name: Ident::new(*parameter),
            arg: FunctionArgExpr::Expr(expr?),
            operator: FunctionArgOperator::RightArrow,
        })
    });
    *call = function(name, args.collect());
    Ok(())
}

fn form(name: &str) -> &'static str {
    match name {
        "TUMBLE" => "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
        "HOP" => "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND): slide, then size",
        "CUMULATE" => {
            "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND): step, then size"
        }
        _ => "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
    }
}

fn unknown_argument(name: &str, key: &Ident, parameters: &[&str]) -> SqlError {
    let error = SqlError::syntax(format!("{name} has no argument `{}`", key.value)).at(key.span);
    match words::nearest(&key.value, parameters.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("its arguments are {}", parameters.join(", "))),
    }
}

fn check(name: &str, parameter: &str, expr: Option<&Expr>, at: &Ident, form: &str) -> Result<(), SqlError> {
    let Some(expr) = expr else { return Ok(()) };
    let span = interval_span(expr).unwrap_or(at.span);
    match parameter {
        "DATA" if TableArgument::of(expr).is_some() => Ok(()),
        "DATA" => {
            Err(SqlError::syntax(format!("the first argument of {name} is a table")).at(at.span).help(form))
        }
        "TIMECOL" => match expr {
            Expr::Function(call)
                if plain_args(call, "descriptor").is_some_and(|mut args| args.next().is_some()) =>
            {
                Ok(())
            }
            _ => Err(SqlError::syntax(format!("{name} is told its time column by DESCRIPTOR"))
                .at(at.span)
                .help(form)),
        },
        _ => match interval_of(expr) {
            Some(Interval::Millis(n)) if n > 0 || parameter == "OFFSET" => Ok(()),
            Some(Interval::Millis(_)) => {
                let message = format!("{parameter} of {name} is not above 0");
                Err(SqlError::new(SqlErrorKind::Semantic, message).at(span).help("write a longer interval"))
            }
            Some(Interval::Months(_)) => {
                Err(SqlError::syntax(format!("{parameter} of {name} is in months or years"))
                    .at(span)
                    .help("windows are of days, hours, minutes or seconds"))
            }
            None => Err(SqlError::syntax(format!("{parameter} of {name} is no interval literal"))
                .at(span)
                .help(form)),
        },
    }
}
