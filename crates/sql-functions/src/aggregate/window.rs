//! A window function for planning.

use super::function::{seen_as, sql_types};
use crate::support::{common_type, planning_error};
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, not_impl_err};
use datafusion_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::{LimitEffect, PartitionEvaluator, Signature, TypeSignature, Volatility, WindowUDFImpl};
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use flugs_sql_types::{LogicalType, SqlType, WindowKind, to_field};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Names, arguments and types; there is no evaluator.
#[derive(Debug, Clone)]
pub(super) struct PlannedWindowFunction {
    name: String,
    usage: &'static str,
    kind: WindowKind,
    signature: Signature,
}

impl PlannedWindowFunction {
    pub(super) fn new(name: &str, usage: &'static str, kind: WindowKind) -> Self {
        let arguments = match kind {
            WindowKind::Ntile { .. }
            | WindowKind::Lead { .. }
            | WindowKind::Lag { .. }
            | WindowKind::NthValue { .. }
            | WindowKind::Aggregate(_) => TypeSignature::UserDefined,
            _ => TypeSignature::Nullary,
        };
        let signature = Signature::new(arguments, Volatility::Immutable);
        PlannedWindowFunction { name: name.to_lowercase(), usage, kind, signature }
    }

    pub(super) fn kind(&self) -> &WindowKind {
        &self.kind
    }

    fn misused(&self) -> datafusion_common::DataFusionError {
        planning_error(format!("{} is called as {}", self.name.to_uppercase(), self.usage))
    }

    fn result(&self, arguments: &[SqlType]) -> Result<SqlType> {
        let integer = |t: &SqlType| {
            use LogicalType::{BigInt, Int, Null, SmallInt, TinyInt};
            matches!(t.kind, TinyInt | SmallInt | Int | BigInt | Null)
        };
        let columns: Vec<SqlType> = match (&self.kind, arguments) {
            (WindowKind::Ntile { .. }, [n]) if integer(n) => Vec::new(),
            (WindowKind::Lead { .. } | WindowKind::Lag { .. }, [value]) => vec![value.clone()],
            (WindowKind::NthValue { .. } | WindowKind::Lead { .. } | WindowKind::Lag { .. }, [value, n])
                if integer(n) =>
            {
                vec![value.clone()]
            }
            (WindowKind::Lead { .. } | WindowKind::Lag { .. }, [value, n, default]) if integer(n) => {
                vec![value.clone(), default.clone()]
            }
            (WindowKind::Aggregate(_), [value]) => vec![value.clone()],
            (_, []) => Vec::new(),
            _ => return Err(self.misused()),
        };
        self.kind.result_type(&columns).map_err(|_| self.misused())
    }
}

impl PartialEq for PlannedWindowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PlannedWindowFunction {}

impl Hash for PlannedWindowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl WindowUDFImpl for PlannedWindowFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let mut seen: Vec<DataType> = given.iter().map(seen_as).collect();
        // A default is of the value's type, or both of the common one.
        if let [value, _, default] = &mut seen[..] {
            let common = common_type(value, default).ok_or_else(|| self.misused())?;
            *value = common.clone();
            *default = common;
        }
        Ok(seen)
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let types = sql_types(args.input_fields())?;
        Ok(Arc::new(to_field(args.name(), &self.result(&types)?)))
    }

    fn partition_evaluator(&self, _args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name)
    }

    fn limit_effect(&self, _args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}
