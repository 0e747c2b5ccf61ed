//! Closures as functions.

use super::rows::{TableFunction, TableRows};
use super::value::{Argument, Returned, Row, named, type_of};
use super::widening::{parameter, widened};
use crate::registry::Category;
use crate::support::{Definition, Parameter, to_datafusion};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;
use flugs_sql_types::{Cell, RowField, SqlType, to_schema};
use flugs_types::{Error, Result, guarded};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// A closure over the values of a row that gives a value. `A` is the tuple of its parameters.
pub trait ScalarClosure<A, R>: Send + Sync + 'static {
    /// The types of the parameters.
    fn arguments() -> Vec<SqlType>;

    /// The value for a row; none for NULL.
    fn call(&self, columns: &[ArrayRef], row: usize) -> Result<Option<R>>;
}

/// A closure over the values of a row that gives rows. `A` is the tuple of its parameters.
pub trait TableClosure<A, R>: Send + Sync + 'static {
    /// The types of the parameters.
    fn arguments() -> Vec<SqlType>;

    /// Appends the rows for a row.
    fn call(&self, columns: &[ArrayRef], row: usize, rows: &mut Vec<R>);
}

macro_rules! closures {
    ($(($($name:ident: $i:literal),*);)*) => {$(
        #[allow(non_snake_case, unused_variables, reason = "one name for the type and its value; there may be no parameter")]
        impl<Fun, Out, $($name,)*> ScalarClosure<($($name,)*), Out> for Fun
        where
            $($name: Argument,)*
            Fun: Fn($($name),*) -> Out + Send + Sync + 'static,
            Fun: for<'a> Fn($($name::Of<'a>),*) -> Out,
        {
            fn arguments() -> Vec<SqlType> {
                vec![$($name::sql_type()),*]
            }

            fn call(&self, columns: &[ArrayRef], row: usize) -> Result<Option<Out>> {
                $(let Some($name) = $name::read(&columns[$i], row) else { return Ok(None) };)*
                guarded(|| Ok(Some(self($($name),*))))
            }
        }

        #[allow(non_snake_case, unused_variables, reason = "one name for the type and its value; there may be no parameter")]
        impl<Fun, Rows, $($name,)*> TableClosure<($($name,)*), Rows::Item> for Fun
        where
            $($name: Argument,)*
            Rows: IntoIterator,
            Fun: Fn($($name),*) -> Rows + Send + Sync + 'static,
            Fun: for<'a> Fn($($name::Of<'a>),*) -> Rows,
        {
            fn arguments() -> Vec<SqlType> {
                vec![$($name::sql_type()),*]
            }

            fn call(&self, columns: &[ArrayRef], row: usize, rows: &mut Vec<Rows::Item>) {
                $(let Some($name) = $name::read(&columns[$i], row) else { return };)*
                rows.extend(self($($name),*));
            }
        }
    )*};
}

closures! {
    ();
    (A: 0);
    (A: 0, B: 1);
    (A: 0, B: 1, C: 2);
    (A: 0, B: 1, C: 2, D: 3);
    (A: 0, B: 1, C: 2, D: 3, E: 4);
}

/// A scalar function of a closure: `scalar("twice", |n: i64| n * 2)`.
///
/// The parameters' types say which arguments it takes: integers are widened, other types must be the parameter's. It is taken to
/// be deterministic.
pub fn scalar<F, A, R>(name: &str, function: F) -> ScalarUDF
where
    F: ScalarClosure<A, R>,
    R: Returned,
{
    let types = F::arguments();
    let takes: Vec<Parameter> = types.iter().map(parameter).collect();
    // A parameter that does not take NULL makes NULL of it, so only then the arguments' nullability is the result's.
    let never_null = types.iter().all(|t| t.nullable) && !R::NULLABLE;
    let owner = name.to_owned();
    let body = move |call: &crate::support::Call<'_>| -> datafusion_common::Result<ArrayRef> {
        let columns =
            (0..call.len()).map(|i| call.array(i)).collect::<datafusion_common::Result<Vec<_>>>()?;
        let value = |row| -> Result<Option<R::Of>> {
            match function.call(&columns, row)? {
                Some(returned) => returned.into_value(),
                None => Ok(None),
            }
        };
        let values = (0..call.rows).map(value).collect::<Result<Vec<_>>>();
        values.and_then(R::Of::column).map_err(|e| to_datafusion(e.at(owner.clone())))
    };
    let definition = Definition::new(
        Category::User,
        name,
        "with the parameters of its closure",
        "A function of the user.",
        body,
    );
    let definition = definition.takes(&takes).returns(type_of::<R>().kind);
    match (R::NULLABLE, never_null) {
        (true, _) => definition.nullable(),
        (_, true) => definition.not_null(),
        _ => definition,
    }
    .into_udf()
}

/// A table function of a closure that gives something to iterate over:
/// `table("words", ["word"], |s: &str| s.split(' ').map(str::to_owned).collect::<Vec<_>>())`.
///
/// There is a name for each column of its rows. It is taken to be deterministic.
pub fn table<F, A, R>(
    name: &str,
    columns: impl IntoIterator<Item = impl Into<String>>,
    function: F,
) -> Arc<dyn TableFunction>
where
    F: TableClosure<A, R>,
    R: Row + 'static,
    A: 'static,
{
    let columns = columns.into_iter().map(Into::into).collect();
    Arc::new(OfClosure { name: name.to_owned(), columns, function, of: PhantomData::<fn(A) -> R> })
}

struct OfClosure<F, A, R> {
    name: String,
    columns: Vec<String>,
    function: F,
    of: PhantomData<fn(A) -> R>,
}

impl<F, A, R> fmt::Debug for OfClosure<F, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl<F, A, R> TableFunction for OfClosure<F, A, R>
where
    F: TableClosure<A, R>,
    R: Row + 'static,
    A: 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self, arguments: &[SqlType]) -> Result<Vec<RowField>> {
        self.coerce(&arguments.iter().map(|a| a.kind.to_arrow()).collect::<Vec<_>>())?;
        let columns = named::<R>(&self.columns);
        let given = R::types().len();
        if columns.len() == given && self.columns.len() == given {
            return Ok(columns);
        }
        let named = self.columns.len();
        Err(Error::job(format!("{} gives rows of {given} columns, but {named} are named", self.name)))
    }

    fn coerce(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        widened(&self.name, arguments, &F::arguments())
    }

    fn eval(&self, arguments: &[ArrayRef], range: Range<usize>) -> Result<TableRows> {
        let (mut rows, mut of) = (Vec::new(), Vec::new());
        for row in range.clone() {
            guarded(|| {
                self.function.call(arguments, row, &mut rows);
                Ok(())
            })
            .map_err(|e| e.at(self.name.clone()))?;
            of.resize(rows.len(), row as u32);
        }
        let fields = named::<R>(&self.columns);
        let schema = to_schema(fields.iter().map(|f| (f.name.as_str(), &f.sql_type)));
        let columns = R::columns(rows).map_err(|e| e.at(self.name.clone()))?;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(of.len()));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|e| Error::user(format!("{}: {e}", self.name)))?;
        TableRows::new(batch, of, range)
    }
}
