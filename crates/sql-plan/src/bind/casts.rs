//! Casts under names of their own.
//!
//! DataFusion calls a cast like what is cast, and takes no two aggregates of one name: `SUM(CAST(x AS INT))` beside
//! `SUM(CAST(x AS DOUBLE))`. So until types are settled each cast stands in a call that has the type in its name.
//!
//! The values of `VALUES` stand in such calls too: DataFusion casts them to types of its own as soon as it sees them, and refuses
//! those of different lengths and precisions.

use crate::bind::calls::call;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, plan_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use sqlparser::ast::{self, Visit, VisitMut, VisitorMut};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the names of such calls begin with.
const PREFIX: &str = "cast as ";

/// The name of the call around a value.
const VALUE: &str = "cast as value";

/// Puts casts of anything but literals into such calls.
pub(super) fn rewrite<T: VisitMut + Visit>(tree: &mut T) {
    struct Casts;
    impl VisitorMut for Casts {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::Cast { expr: of, data_type, .. } = &*expr
                && !matches!(of.as_ref(), ast::Expr::Value(_))
            {
                let name = format!("{PREFIX}{data_type}");
                let cast = std::mem::replace(expr, ast::Expr::value(ast::Value::Null));
                *expr = call(ast::Ident::with_quote('`', name), vec![cast]);
            }
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
            values(&mut query.body);
            ControlFlow::Continue(())
        }
    }
    let _ = VisitMut::visit(tree, &mut Casts);
}

fn values(body: &mut ast::SetExpr) {
    match body {
        ast::SetExpr::Values(values) => {
            for value in values.rows.iter_mut().flat_map(|row| row.content.iter_mut()) {
                let of = std::mem::replace(value, ast::Expr::value(ast::Value::Null));
                *value = call(ast::Ident::with_quote('`', VALUE), vec![of]);
            }
        }
        ast::SetExpr::SetOperation { left, right, .. } => {
            values(left);
            values(right);
        }
        // A query in parentheses is visited by itself.
        _ => {}
    }
}

/// A value of `VALUES` without the casts that DataFusion put around it.
pub(super) fn value_in(expr: Expr) -> Expr {
    let mut inner = &expr;
    while let Expr::Cast(cast) = inner {
        inner = &cast.expr;
    }
    match inner {
        Expr::ScalarFunction(call) if call.func.name() == VALUE => cast_in(call).cloned().unwrap_or(expr),
        _ => expr,
    }
}

/// The function of such a call.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    let signature = Signature::any(1, Volatility::Immutable);
    let named = || Arc::new(ScalarUDF::from(NamedCast { name: name.to_owned(), signature }));
    name.starts_with(PREFIX).then(named)
}

/// The cast in such a call.
pub(super) fn cast_in(call: &ScalarFunction) -> Option<&Expr> {
    call.func.inner().is::<NamedCast>().then(|| call.args.first()).flatten()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedCast {
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for NamedCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match args {
            [of] => Ok(of.clone()),
            _ => plan_err!("a cast has one argument"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [of] if self.name == VALUE => Ok(Arc::new(of.as_ref().clone().with_metadata(Default::default()))),
            [of] => Ok(of.clone()),
            _ => plan_err!("a cast has one argument"),
        }
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        plan_err!("a cast's name is no cast")
    }
}
