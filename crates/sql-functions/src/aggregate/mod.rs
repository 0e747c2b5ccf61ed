//! Aggregate and window functions as the planner sees them: names, arguments, types.
//!
//! They are never carried out by DataFusion: results come from the streaming operators, which are told by the plain data of
//! [`AggregateKind`] and [`WindowKind`] what to do. [`plan_aggregate`] and [`plan_window`] take a bound call apart into such a
//! kind and the expressions that are to be its argument columns; parameters of a query such as a separator must be constants.
//!
//! The parser writes `JSON_OBJECTAGG` and `JSON_ARRAYAGG` as `json_objectagg_null_on_null(k, v)`,
//! `json_objectagg_absent_on_null(k, v)`, `json_arrayagg_null_on_null(x)` and `json_arrayagg_absent_on_null(x)`.
//! `GROUPING`, `GROUPING_ID` and `GROUP_ID` have types but no kind: they follow from the grouping set, so the planner replaces
//! them.

mod function;
mod plan;
mod window;

#[cfg(test)]
mod tests;

pub use plan::{PlannedAggregate, PlannedWindow, plan_aggregate, plan_window};

use crate::registry::{Category, FunctionDoc, FunctionKind, FunctionRegistry};
use datafusion_expr::{AggregateUDF, WindowUDF};
use flugs_sql_types::{AggregateKind, WindowKind};
use function::PlannedFunction;
use window::PlannedWindowFunction;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Meaning {
    /// An aggregate whose parameters are not known yet.
    Kind(AggregateKind),
    /// A number that says which columns a row is grouped by.
    Grouping,
}

struct Entry {
    name: &'static str,
    aliases: &'static [&'static str],
    usage: &'static str,
    text: &'static str,
    meaning: Meaning,
}

/// Adds the functions of this module.
pub(crate) fn register(registry: &mut FunctionRegistry) {
    for Entry { name, aliases, usage, text, meaning } in entries() {
        let category = match meaning {
            Meaning::Grouping => Category::Grouping,
            Meaning::Kind(_) if name.starts_with("BITMAP") => Category::Bitmap,
            Meaning::Kind(_) if name.starts_with("JSON") => Category::Json,
            Meaning::Kind(_) => Category::Aggregate,
        };
        let doc =
            FunctionDoc::new(FunctionKind::Aggregate, category, name, usage, text).with_aliases(aliases);
        registry.add_aggregate(AggregateUDF::from(PlannedFunction::new(name, aliases, usage, meaning)), doc);
    }
    // DataFusion looks for these among the window functions alone where they stand before OVER.
    let (first, last) =
        (AggregateKind::FirstValue { ignore_nulls: true }, AggregateKind::LastValue { ignore_nulls: true });
    for (usage, kind) in [("FIRST_VALUE(x)", first), ("LAST_VALUE(x)", last)] {
        let name = kind.name().to_owned();
        let function = PlannedWindowFunction::new(&name, usage, WindowKind::Aggregate(kind));
        registry.add_window_form(WindowUDF::from(function));
    }
    for (name, usage, text, kind) in window_entries() {
        let doc = FunctionDoc::new(FunctionKind::Window, Category::Window, name, usage, text);
        registry.add_window(WindowUDF::from(PlannedWindowFunction::new(name, usage, kind)), doc);
    }
}

fn entries() -> Vec<Entry> {
    use AggregateKind as K;
    let entry =
        |name, aliases, usage, text, kind| Entry { name, aliases, usage, text, meaning: Meaning::Kind(kind) };
    let grouping = |name, usage, text| Entry { name, aliases: &[], usage, text, meaning: Meaning::Grouping };
    vec![
        entry(
            "COUNT",
            &[],
            "COUNT(*), COUNT(x) or COUNT(DISTINCT x, ...)",
            "How many rows, or rows without NULL.",
            K::Count,
        ),
        entry("SUM", &[], "SUM(x)", "The sum; integers keep their type.", K::Sum),
        entry("SUM0", &["$SUM0"], "SUM0(x)", "The sum; 0 over no values.", K::Sum0),
        entry("AVG", &[], "AVG(x)", "The mean; of integers truncated to their type.", K::Avg),
        entry("MIN", &[], "MIN(x)", "The least value.", K::Min),
        entry("MAX", &[], "MAX(x)", "The greatest value.", K::Max),
        entry("STDDEV_POP", &[], "STDDEV_POP(x)", "The standard deviation of all values.", K::StddevPop),
        entry(
            "STDDEV_SAMP",
            &["STDDEV"],
            "STDDEV_SAMP(x)",
            "The standard deviation of a sample.",
            K::StddevSamp,
        ),
        entry("VAR_POP", &[], "VAR_POP(x)", "The variance of all values.", K::VarPop),
        entry("VAR_SAMP", &["VARIANCE"], "VAR_SAMP(x)", "The variance of a sample.", K::VarSamp),
        entry("COLLECT", &[], "COLLECT(x)", "The multiset of the values.", K::Collect),
        entry(
            "LISTAGG",
            &[],
            "LISTAGG(string[, separator])",
            "The strings one behind the other, with a separator, which is ',' unless given.",
            K::Listagg { separator: ",".to_owned() },
        ),
        entry(
            "FIRST_VALUE",
            &[],
            "FIRST_VALUE(x)",
            "The first value in order of arrival.",
            K::FirstValue { ignore_nulls: true },
        ),
        entry(
            "LAST_VALUE",
            &[],
            "LAST_VALUE(x)",
            "The last value in order of arrival.",
            K::LastValue { ignore_nulls: true },
        ),
        entry(
            "ARRAY_AGG",
            &[],
            "ARRAY_AGG(x) [RESPECT NULLS | IGNORE NULLS]",
            "The array of the values in order of arrival.",
            K::ArrayAgg { ignore_nulls: false },
        ),
        entry(
            "PERCENTILE",
            &[],
            "PERCENTILE(x, fraction(s)[, frequency])",
            "The exact percentile, between 0 and 1, or an array of them.",
            K::Percentile { fractions: Vec::new(), array: false },
        ),
        entry(
            "SINGLE_VALUE",
            &[],
            "SINGLE_VALUE(x)",
            "The only value; more than one are an error.",
            K::SingleValue,
        ),
        entry(
            "JSON_OBJECTAGG_NULL_ON_NULL",
            &["JSON_OBJECTAGG"],
            "JSON_OBJECTAGG([KEY] key VALUE value [{ NULL | ABSENT } ON NULL])",
            "A JSON object of keys and values.",
            K::JsonObjectAgg { absent_on_null: false },
        ),
        entry(
            "JSON_OBJECTAGG_ABSENT_ON_NULL",
            &[],
            "JSON_OBJECTAGG([KEY] key VALUE value [{ NULL | ABSENT } ON NULL])",
            "A JSON object of keys and values.",
            K::JsonObjectAgg { absent_on_null: true },
        ),
        entry(
            "JSON_ARRAYAGG_ABSENT_ON_NULL",
            &["JSON_ARRAYAGG"],
            "JSON_ARRAYAGG(x [{ NULL | ABSENT } ON NULL])",
            "A JSON array of values.",
            K::JsonArrayAgg { absent_on_null: true },
        ),
        entry(
            "JSON_ARRAYAGG_NULL_ON_NULL",
            &[],
            "JSON_ARRAYAGG(x [{ NULL | ABSENT } ON NULL])",
            "A JSON array of values.",
            K::JsonArrayAgg { absent_on_null: false },
        ),
        entry(
            "BITMAP_BUILD_AGG",
            &[],
            "BITMAP_BUILD_AGG(x)",
            "The bitmap of the values; no operator computes it yet.",
            K::BitmapBuild,
        ),
        entry(
            "BITMAP_BUILD_CARDINALITY_AGG",
            &[],
            "BITMAP_BUILD_CARDINALITY_AGG(x)",
            "How many different values; no operator computes it yet.",
            K::BitmapBuildCardinality,
        ),
        entry(
            "BITMAP_AND_AGG",
            &[],
            "BITMAP_AND_AGG(bitmap)",
            "What is in all bitmaps; no operator computes it yet.",
            K::BitmapAnd,
        ),
        entry(
            "BITMAP_AND_CARDINALITY_AGG",
            &[],
            "BITMAP_AND_CARDINALITY_AGG(bitmap)",
            "How many values are in all bitmaps; no operator computes it yet.",
            K::BitmapAndCardinality,
        ),
        entry(
            "BITMAP_OR_AGG",
            &[],
            "BITMAP_OR_AGG(bitmap)",
            "What is in any bitmap; no operator computes it yet.",
            K::BitmapOr,
        ),
        entry(
            "BITMAP_OR_CARDINALITY_AGG",
            &[],
            "BITMAP_OR_CARDINALITY_AGG(bitmap)",
            "How many values are in any bitmap; no operator computes it yet.",
            K::BitmapOrCardinality,
        ),
        entry(
            "BITMAP_XOR_AGG",
            &[],
            "BITMAP_XOR_AGG(bitmap)",
            "What is in an odd number of bitmaps; no operator computes it yet.",
            K::BitmapXor,
        ),
        entry(
            "BITMAP_XOR_CARDINALITY_AGG",
            &[],
            "BITMAP_XOR_CARDINALITY_AGG(bitmap)",
            "How many values are in an odd number of bitmaps; no operator computes it yet.",
            K::BitmapXorCardinality,
        ),
        grouping(
            "GROUPING",
            "GROUPING(x, ...)",
            "A bit for each expression: 1 where rows are not grouped by it.",
        ),
        grouping("GROUPING_ID", "GROUPING_ID(x, ...)", "The same as GROUPING."),
        grouping("GROUP_ID", "GROUP_ID()", "Tells equal grouping sets apart."),
    ]
}

fn window_entries() -> Vec<(&'static str, &'static str, &'static str, WindowKind)> {
    use WindowKind as K;
    vec![
        ("ROW_NUMBER", "ROW_NUMBER()", "The number of the row, from 1.", K::RowNumber),
        ("RANK", "RANK()", "The number of the first row that is equal in order.", K::Rank),
        ("DENSE_RANK", "DENSE_RANK()", "The rank without gaps.", K::DenseRank),
        ("CUME_DIST", "CUME_DIST()", "The part of the rows that do not come later.", K::CumeDist),
        ("PERCENT_RANK", "PERCENT_RANK()", "The rank from 0 to 1.", K::PercentRank),
        ("NTILE", "NTILE(n)", "The number of one of n buckets of about equal size.", K::Ntile { buckets: 1 }),
        ("LEAD", "LEAD(x[, offset[, default]])", "The value some rows later.", K::Lead { offset: 1 }),
        ("LAG", "LAG(x[, offset[, default]])", "The value some rows earlier.", K::Lag { offset: 1 }),
        ("NTH_VALUE", "NTH_VALUE(x, n)", "The value of the n-th row of the frame.", K::NthValue { n: 1 }),
    ]
}
