//! Expressions and constants as text that tells any two of them apart: keys of equal operators, and parts of addresses of state.
//!
//! What is shown to people is no key: it leaves out parentheses, types of casts and rows in the middle of many.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{Expr, Volatility};
use flugs_sql_ops::row::RowCodec;
use std::fmt::Write;

/// An expression, whatever it is called.
pub(crate) fn expr(expr: &Expr) -> String {
    let mut text = String::new();
    write_expr(expr, &mut text);
    text
}

/// Perhaps an expression.
pub(crate) fn optional(expr: &Option<Expr>) -> String {
    expr.as_ref().map(self::expr).unwrap_or_default()
}

/// Rows of constants, with their types.
pub(crate) fn rows(rows: &RecordBatch) -> String {
    cells(rows.columns(), rows.num_rows())
}

fn cells(columns: &[ArrayRef], rows: usize) -> String {
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let encoded = RowCodec::new(&types).and_then(|codec| codec.encode(columns, rows));
    let mut text = format!("{types:?} {rows}");
    match encoded {
        Ok(encoded) => (0..rows).for_each(|row| {
            text.push(' ');
            encoded.row(row).iter().for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
        }),
        // A type that is none of SQL's.
        Err(_) => {
            let _ = write!(text, " {columns:?}");
        }
    }
    text
}

fn write_expr(expr: &Expr, text: &mut String) {
    if let Expr::Alias(alias) = expr {
        return write_expr(&alias.expr, text);
    }
    text.push_str(expr.variant_name());
    // Its own part, and whether its arguments are written behind.
    let whole = match expr {
        Expr::Column(column) => {
            let _ = write!(text, " {:?} {:?}", column.relation, column.name);
            true
        }
        Expr::Literal(value, _) => {
            text.push_str(&literal(value));
            true
        }
        Expr::ScalarFunction(call) => {
            let _ = write!(text, " {:?}", function(call));
            false
        }
        Expr::BinaryExpr(binary) => {
            let _ = write!(text, " {:?}", binary.op);
            false
        }
        Expr::Like(like) | Expr::SimilarTo(like) => {
            let _ = write!(text, " {} {:?} {}", like.negated, like.escape_char, like.case_insensitive);
            false
        }
        Expr::Between(between) => {
            let _ = write!(text, " {}", between.negated);
            false
        }
        Expr::InList(list) => {
            let _ = write!(text, " {}", list.negated);
            false
        }
        Expr::Case(case) => {
            let _ = write!(text, " {} {}", case.expr.is_some(), case.when_then_expr.len());
            false
        }
        Expr::Cast(cast) => {
            let _ = write!(text, " {:?}", cast.field);
            false
        }
        Expr::TryCast(cast) => {
            let _ = write!(text, " {:?}", cast.field);
            false
        }
        Expr::Not(_)
        | Expr::Negative(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_) => false,
        // Of no operator once a query is planned.
        other => {
            let _ = write!(text, " {other:?}");
            true
        }
    };
    if whole {
        return;
    }
    text.push('(');
    let _ = expr.apply_children(|part| {
        write_expr(part, text);
        text.push(',');
        Ok(TreeNodeRecursion::Continue)
    });
    text.push(')');
}

/// A function with its parameters: a cast has its target in its name over any argument.
fn function(call: &ScalarFunction) -> String {
    let shown = call.func.schema_name(&[Expr::Literal(ScalarValue::Null, None)]);
    let of_session = call.func.signature().volatility != Volatility::Immutable;
    format!("{} {of_session}", shown.unwrap_or_else(|_| call.func.name().to_owned()))
}

fn literal(value: &ScalarValue) -> String {
    let cell = value.to_array().map(|array| cells(&[array], 1));
    format!(" {}", cell.unwrap_or_else(|_| format!("{value:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_expr::{col, lit};
    use flugs_sql_functions::cast::cast_function;
    use flugs_sql_types::{LogicalType, SqlType};

    #[test]
    fn what_reads_alike_is_told_apart() {
        let cast = |length| {
            let to = SqlType { kind: LogicalType::VarChar(length), nullable: true };
            cast_function(to, false).call(vec![col("s")])
        };
        let (p, q) = (col("p"), col("q"));
        let alike = [
            cast(2),
            cast(4),
            col("x") - (col("a") - col("y")),
            col("x") - col("a") - col("y"),
            p.clone().or(q.clone()).and(col("r")),
            p.clone().or(q.clone().and(col("r"))),
            p.clone().and(q.clone()).is_not_unknown(),
            p.and(q.is_not_unknown()),
            lit(1i32),
            lit(1i64),
            lit("1"),
            col("a.b"),
            Expr::Column(datafusion_common::Column::from_qualified_name("a.b")),
        ];
        let mut texts: Vec<String> = alike.iter().map(expr).collect();
        texts.sort();
        texts.dedup();
        // The last two are one: `col` takes its text apart.
        assert_eq!(texts.len(), alike.len() - 1);
        assert_eq!(expr(&col("s").alias("t")), expr(&col("s")));
    }

    #[test]
    fn rows_in_the_middle_count() {
        let batch = |middle: i64| {
            let values = (0..25).map(|i| if i == 12 { middle } else { i });
            let array = std::sync::Arc::new(arrow::array::Int64Array::from_iter_values(values));
            RecordBatch::try_from_iter([("n", array as _)]).expect("one column")
        };
        assert_eq!(rows(&batch(12)), rows(&batch(12)));
        assert_ne!(rows(&batch(12)), rows(&batch(1000)));
    }
}
