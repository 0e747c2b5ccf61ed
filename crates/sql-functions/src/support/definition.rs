//! A scalar function as data.

use super::call::Call;
use super::parameter::{self, Parameter};
use super::planning_error;
use crate::registry::{Category, FunctionDoc, FunctionKind};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use flugs_sql_types::{LogicalType, SqlType, from_field, to_field};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

type Body = Arc<dyn Fn(&Call<'_>) -> Result<ArrayRef> + Send + Sync>;
type Coercion = fn(&[DataType]) -> Result<Vec<DataType>>;
type TypeRule = fn(&Types<'_>) -> Result<LogicalType>;

/// Which arguments there may be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters {
    pub(super) required: Vec<Parameter>,
    optional: Vec<Parameter>,
    repeated: Option<Parameter>,
}

impl Parameters {
    pub(super) fn most(&self) -> Option<usize> {
        self.repeated.is_none().then_some(self.required.len() + self.optional.len())
    }

    pub(super) fn at(&self, i: usize) -> Parameter {
        let listed = self.required.get(i).or_else(|| self.optional.get(i - self.required.len().min(i)));
        listed.copied().or(self.repeated).unwrap_or(Parameter::Any)
    }
}

/// The arguments' types, from which a function's type follows.
pub(crate) struct Types<'a> {
    /// The name of the function.
    pub(crate) name: &'a str,
    /// The arguments' types.
    pub(crate) types: Vec<SqlType>,
    constants: &'a [Option<&'a ScalarValue>],
}

impl Types<'_> {
    /// The type of an argument.
    pub(crate) fn kind(&self, i: usize) -> &LogicalType {
        &self.types[i].kind
    }

    /// The value of an argument that is a constant.
    pub(crate) fn constant(&self, i: usize) -> Option<&ScalarValue> {
        self.constants.get(i).copied().flatten()
    }
}

#[derive(Clone)]
enum Returns {
    Always(LogicalType),
    Argument(usize),
    By(TypeRule),
}

#[derive(Clone, Copy)]
enum Nulls {
    /// NULL where an argument may be.
    OfArguments,
    Never,
    Possible,
    /// NULL where all arguments may be.
    OfAllArguments,
    /// NULL where the first argument may be.
    OfFirst,
    /// NULL where an argument may be, or where these types may give it.
    By(fn(&Types<'_>) -> bool),
}

/// A scalar function: its name, its documentation, its arguments, its type, its loop.
///
/// Two are equal when they have the same name; a family of unnamed functions tells its members apart by the name.
#[derive(Clone)]
pub(crate) struct Definition {
    name: String,
    aliases: Vec<String>,
    category: Category,
    usage: &'static str,
    text: &'static str,
    parameters: Parameters,
    coercion: Option<Coercion>,
    returns: Returns,
    nulls: Nulls,
    mark: Option<(&'static str, &'static str)>,
    volatility: Volatility,
    signature: Signature,
    rewrite: Option<fn(Vec<Expr>) -> Result<Expr>>,
    body: Body,
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Definition {}

impl Hash for Definition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Definition {
    /// A function of no arguments that gives a `STRING`, until said otherwise. `usage` is how it is called, `text` what it
    /// does in one line.
    pub(crate) fn new(
        category: Category,
        name: impl Into<String>,
        usage: &'static str,
        text: &'static str,
        body: impl Fn(&Call<'_>) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Self {
        Definition {
            name: name.into(),
            aliases: Vec::new(),
            category,
            usage,
            text,
            parameters: Parameters::default(),
            coercion: None,
            returns: Returns::Always(LogicalType::STRING),
            nulls: Nulls::OfArguments,
            mark: None,
            volatility: Volatility::Immutable,
            signature: Signature::user_defined(Volatility::Immutable),
            rewrite: None,
            body: Arc::new(body),
        }
    }

    /// Other names.
    pub(crate) fn aliases(mut self, aliases: &[&str]) -> Self {
        self.aliases = aliases.iter().map(|&a| a.to_owned()).collect();
        self
    }

    /// The arguments that must be there.
    pub(crate) fn takes(mut self, parameters: &[Parameter]) -> Self {
        self.parameters.required = parameters.to_vec();
        self
    }

    /// The arguments that may follow.
    pub(crate) fn optionally(mut self, parameters: &[Parameter]) -> Self {
        self.parameters.optional = parameters.to_vec();
        self
    }

    /// What may follow any number of times.
    pub(crate) fn repeats(mut self, parameter: Parameter) -> Self {
        self.parameters.repeated = Some(parameter);
        self
    }

    /// How arguments that fit their parameters are made to fit each other.
    pub(crate) fn coerced_by(mut self, rule: Coercion) -> Self {
        self.coercion = Some(rule);
        self
    }

    /// The type of the result.
    pub(crate) fn returns(mut self, kind: LogicalType) -> Self {
        self.returns = Returns::Always(kind);
        self
    }

    /// The result is of the type of this argument.
    pub(crate) fn returns_argument(mut self, i: usize) -> Self {
        self.returns = Returns::Argument(i);
        self
    }

    /// The type of the result follows from the arguments (after widening).
    pub(crate) fn returns_by(mut self, rule: TypeRule) -> Self {
        self.returns = Returns::By(rule);
        self
    }

    /// NULL may come out whatever the arguments are.
    pub(crate) fn nullable(mut self) -> Self {
        self.nulls = Nulls::Possible;
        self
    }

    /// NULL never comes out.
    pub(crate) fn not_null(mut self) -> Self {
        self.nulls = Nulls::Never;
        self
    }

    /// NULL comes out where an argument may be NULL, or where `rule` says so of the types.
    pub(crate) fn nullable_by(mut self, rule: fn(&Types<'_>) -> bool) -> Self {
        self.nulls = Nulls::By(rule);
        self
    }

    /// NULL comes out only where all arguments may be NULL.
    pub(crate) fn null_if_all(mut self) -> Self {
        self.nulls = Nulls::OfAllArguments;
        self
    }

    /// NULL comes out only where the first argument is NULL.
    pub(crate) fn null_if_first(mut self) -> Self {
        self.nulls = Nulls::OfFirst;
        self
    }

    /// The result's field has this in its metadata, so that other functions know where the value is from.
    pub(crate) fn marked(mut self, key: &'static str, value: &'static str) -> Self {
        self.mark = Some((key, value));
        self
    }

    /// Another value for every row.
    pub(crate) fn volatile(mut self) -> Self {
        self.volatility = Volatility::Volatile;
        self
    }

    /// The optimizer replaces a call by this expression; arguments are then evaluated only where it needs them.
    pub(crate) fn rewritten(mut self, rewrite: fn(Vec<Expr>) -> Result<Expr>) -> Self {
        self.rewrite = Some(rewrite);
        self
    }

    /// The documentation.
    pub(crate) fn doc(&self) -> FunctionDoc {
        let aliases: Vec<&str> = self.aliases.iter().map(String::as_str).collect();
        FunctionDoc::new(FunctionKind::Scalar, self.category, &self.name, self.usage, self.text)
            .with_aliases(&aliases)
    }

    /// The function object.
    pub(crate) fn into_udf(mut self) -> ScalarUDF {
        // DataFusion asks `coerce_types` also where there are no arguments.
        self.signature = Signature::user_defined(self.volatility);
        ScalarUDF::new_from_impl(self)
    }

    fn kind_of(&self, types: &Types<'_>) -> Result<LogicalType> {
        match &self.returns {
            Returns::Always(kind) => Ok(kind.clone()),
            Returns::Argument(i) => Ok(types.kind(*i).clone()),
            Returns::By(rule) => rule(types),
        }
    }
}

impl ScalarUDFImpl for Definition {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let widened = parameter::coerce(&self.name, self.usage, &self.parameters, given)?;
        self.coercion.map_or(Ok(widened.clone()), |rule| rule(&widened))
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Err(planning_error(format!("the type of {} follows from its arguments' fields", self.name)))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let given: Vec<DataType> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let widened = self.coerce_types(&given)?;
        let typed = |(field, to): (&FieldRef, DataType)| {
            from_field(&field.as_ref().clone().with_data_type(to)).map_err(super::to_datafusion)
        };
        let types = args.arg_fields.iter().zip(widened).map(typed).collect::<Result<Vec<_>>>()?;
        let types = Types { name: &self.name, types, constants: args.scalar_arguments };
        let kind = self.kind_of(&types)?;
        let may_be_null = |t: &SqlType| t.nullable || t.kind == LogicalType::Null;
        let nullable = match self.nulls {
            Nulls::Never => false,
            Nulls::Possible => true,
            Nulls::OfArguments => types.types.iter().any(may_be_null),
            Nulls::OfAllArguments => types.types.iter().all(may_be_null),
            Nulls::OfFirst => types.types.iter().take(1).any(may_be_null),
            Nulls::By(rule) => types.types.iter().any(may_be_null) || rule(&types),
        };
        let mut field = to_field(&self.name, &SqlType { kind, nullable });
        if let Some((key, value)) = self.mark {
            field.metadata_mut().insert(key.to_owned(), value.to_owned());
        }
        Ok(Arc::new(field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let wanted = self.coerce_types(&given)?;
        let constant: Vec<bool> = args.args.iter().map(|a| matches!(a, ColumnarValue::Scalar(_))).collect();
        let one_row = constant.iter().all(|c| *c) && self.volatility != Volatility::Volatile;
        let arguments =
            args.args.iter().zip(&wanted).map(|(a, to)| argument(a, to)).collect::<Result<Vec<_>>>()?;
        let call = Call {
            arguments,
            constant,
            fields: &args.arg_fields,
            rows: if one_row { 1 } else { args.number_rows },
            field: &args.return_field,
            options: &args.config_options,
        };
        let result = (self.body)(&call)?;
        if one_row {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }

    fn simplify(&self, args: Vec<Expr>, _context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match self.rewrite {
            Some(rewrite) => Ok(ExprSimplifyResult::Simplified(rewrite(args)?)),
            None => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn short_circuits(&self) -> bool {
        self.rewrite.is_some()
    }
}

fn argument(value: &ColumnarValue, to: &DataType) -> Result<ArrayRef> {
    let array = match value {
        ColumnarValue::Array(array) => array.clone(),
        ColumnarValue::Scalar(scalar) => scalar.to_array_of_size(1)?,
    };
    if array.data_type() == to { Ok(array) } else { Ok(arrow::compute::cast(&array, to)?) }
}
