//! The rules of DataFusion's optimizer that hold for streams, and in which order.
//!
//! Left out are those that look at statistics or sizes, move limits through what may be unbounded, or make another state of the
//! same query: join reordering, limit pushdown, the split of single distincts.

use crate::bind::common::join_keys;
use crate::guards::{self, PushDown};
use crate::marks;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion_optimizer::analyzer::Analyzer;
use datafusion_optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion_optimizer::decorrelate_lateral_join::DecorrelateLateralJoin;
use datafusion_optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion_optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion_optimizer::eliminate_filter::EliminateFilter;
use datafusion_optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion_optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::optimize_unions::OptimizeUnions;
use datafusion_optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion_optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion_optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{Optimizer, OptimizerContext, OptimizerRule};
use flugs_sql_types::from_field;
use std::sync::Arc;

fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(RewriteSetComparison::new()),
        Arc::new(OptimizeUnions::new()),
        Arc::new(SimplifyExpressions::new()),
        Arc::new(ReplaceDistinctWithAggregate::new()),
        Arc::new(DecorrelatePredicateSubquery::new()),
        Arc::new(ScalarSubqueryToJoin::new()),
        Arc::new(DecorrelateLateralJoin::new()),
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateDuplicatedExpr::new()),
        Arc::new(EliminateFilter::new()),
        Arc::new(EliminateOuterJoin::new()),
        Arc::new(PushDown::default()),
        Arc::new(CommonSubexprEliminate::new()),
        Arc::new(OptimizeProjections::new()),
    ]
}

/// Settles what `TYPEOF` says. Projections move below a `UNION`, where a column may be NOT NULL although another input's is not.
fn type_names(plan: LogicalPlan) -> Result<LogicalPlan> {
    let named = |plan: LogicalPlan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| type_name(expr, &schema))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    };
    Ok(plan.transform_up_with_subqueries(named)?.data)
}

fn type_name(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(call) = &expr else { return Ok(Transformed::no(expr)) };
    let [of, ..] = &call.args[..] else { return Ok(Transformed::no(expr)) };
    if !call.name().eq_ignore_ascii_case("typeof") {
        return Ok(Transformed::no(expr));
    }
    let (_, field) = of.to_field(schema)?;
    let sql_type = from_field(&field).map_err(|e| DataFusionError::External(Box::new(e)))?;
    Ok(Transformed::yes(Expr::Literal(ScalarValue::Utf8View(Some(sql_type.to_string())), None)))
}

/// Checks and coerces types, then optimizes.
pub(crate) fn optimize(plan: LogicalPlan, options: &Arc<ConfigOptions>) -> Result<LogicalPlan> {
    let plan = Analyzer::new().execute_and_check(join_keys(plan)?, options, |_, _| {})?;
    let plan = type_names(plan)?;
    let config = OptimizerContext::new_with_config_options(options.clone());
    let plan = guards::mark(marks::expand(plan, &config)?)?;
    guards::unmark(Optimizer::with_rules(rules()).optimize(plan, &config, |_, _| {})?)
}
