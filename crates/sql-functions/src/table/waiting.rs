//! Functions that wait for something outside: a request, a look-up.
//!
//! They are called row by row. The operators that call them bound how many calls are under way, time them out, try them again, and keep
//! the order of the rows.

use super::value::{Returned, type_of};
use super::widening::widened;
use crate::support::{planning_error, to_datafusion};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use flugs_sql_types::{Cell, SqlType, to_field};
use flugs_types::{Error, guarded};
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

/// A result that is still to come.
pub type Waiting<T> = Pin<Box<dyn Future<Output = flugs_types::Result<T>> + Send>>;

/// A scalar function that waits (Flink: `AsyncScalarFunction`).
pub trait AsyncScalar: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// The types of its arguments.
    fn arguments(&self) -> Vec<SqlType>;

    /// The type of its value, where no argument that is never NULL is NULL.
    fn result(&self) -> SqlType;

    /// Begins to ask for the one row of these arguments; also when it is tried again. Gives a column of one value.
    fn call(&self, arguments: &[ArrayRef]) -> Waiting<ArrayRef>;
}

/// A closure over the values of a row that gives a future. `A` is the tuple of its parameters, which are of types of columns: they
/// outlive the call.
pub trait AsyncClosure<A, R>: Send + Sync + 'static {
    /// The types of the parameters.
    fn arguments() -> Vec<SqlType>;

    /// The future for the one row of these columns; none for NULL.
    fn call(
        &self,
        columns: &[ArrayRef],
    ) -> flugs_types::Result<Option<Pin<Box<dyn Future<Output = R> + Send>>>>;
}

macro_rules! closures {
    ($(($($name:ident: $i:literal),*);)*) => {$(
        #[allow(non_snake_case, unused_variables, reason = "one name for the type and its value; there may be no parameter")]
        impl<Fun, Fut, Out, $($name,)*> AsyncClosure<($($name,)*), Out> for Fun
        where
            $($name: Cell,)*
            Fun: Fn($($name),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Out> + Send + 'static,
        {
            fn arguments() -> Vec<SqlType> {
                vec![$($name::sql_type()),*]
            }

            fn call(
                &self,
                columns: &[ArrayRef],
            ) -> flugs_types::Result<Option<Pin<Box<dyn Future<Output = Out> + Send>>>> {
                $(let Some($name) = one::<$name>(columns, $i)? else { return Ok(None) };)*
                guarded(|| {
                    let future: Pin<Box<dyn Future<Output = Out> + Send>> = Box::pin(self($($name),*));
                    Ok(Some(future))
                })
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

/// The value of a column of one row.
fn one<A: Cell>(columns: &[ArrayRef], at: usize) -> flugs_types::Result<Option<A>> {
    let column = columns.get(at).ok_or_else(|| Error::bug(format!("there is no argument {at}")))?;
    Ok(A::values(column)?.pop().flatten())
}

struct OfClosure<F, A, R> {
    name: String,
    function: F,
    of: PhantomData<fn(A) -> R>,
}

impl<F, A, R> AsyncScalar for OfClosure<F, A, R>
where
    F: AsyncClosure<A, R>,
    R: Returned + 'static,
    A: 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Vec<SqlType> {
        F::arguments()
    }

    fn result(&self) -> SqlType {
        type_of::<R>()
    }

    fn call(&self, arguments: &[ArrayRef]) -> Waiting<ArrayRef> {
        let (asked, name) = (self.function.call(arguments), self.name.clone());
        Box::pin(async move {
            let value = match asked.map_err(|e| e.at(name.clone()))? {
                None => None,
                Some(future) => future.await.into_value().map_err(|e| e.at(name))?,
            };
            R::Of::column(vec![value])
        })
    }
}

/// A function of a closure that gives a future:
/// `async_scalar("user_name", |id: i64| async move { Ok::<_, flugs_types::Error>(format!("user {id}")) })`.
pub fn async_scalar<F, A, R>(name: &str, function: F) -> ScalarUDF
where
    F: AsyncClosure<A, R>,
    R: Returned + 'static,
    A: 'static,
{
    async_function(Arc::new(OfClosure { name: name.to_owned(), function, of: PhantomData::<fn(A) -> R> }))
}

/// The function object of a function that waits, for planning.
pub fn async_function(function: Arc<dyn AsyncScalar>) -> ScalarUDF {
    let arguments = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::UserDefined]);
    // It must stand in a plan as often as in the query, and never be computed while planning.
    let signature = Signature::new(arguments, Volatility::Volatile);
    ScalarUDF::new_from_impl(AsyncScalarFunction { function, signature })
}

/// A function that waits among DataFusion's; the planner takes the [`AsyncScalar`] out of it.
pub struct AsyncScalarFunction {
    function: Arc<dyn AsyncScalar>,
    signature: Signature,
}

impl AsyncScalarFunction {
    /// The function of this object, where it is one that waits.
    pub fn of(udf: &ScalarUDF) -> Option<&Arc<dyn AsyncScalar>> {
        let inner: &dyn std::any::Any = udf.inner().as_ref();
        inner.downcast_ref::<AsyncScalarFunction>().map(|of| &of.function)
    }
}

impl fmt::Debug for AsyncScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.name())
    }
}

impl PartialEq for AsyncScalarFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
    }
}

impl Eq for AsyncScalarFunction {}

impl Hash for AsyncScalarFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

impl ScalarUDFImpl for AsyncScalarFunction {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        widened(self.name(), given, &self.function.arguments()).map_err(to_datafusion)
    }

    fn return_type(&self, _given: &[DataType]) -> Result<DataType> {
        Ok(self.function.result().kind.to_arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let mut result = self.function.result();
        // A parameter that does not take NULL makes NULL of it.
        let wanted = self.function.arguments();
        result.nullable |=
            args.arg_fields.iter().zip(wanted).any(|(field, t)| field.is_nullable() && !t.nullable);
        Ok(Arc::new(to_field(self.name(), &result)))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(planning_error(format!(
            "{} waits for something outside, and can be called in SELECT, WHERE and GROUP BY alone",
            self.name()
        )))
    }
}
