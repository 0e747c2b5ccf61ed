//! Which accumulators a query's calls need, and where they stand in a group's state.
//!
//! Calls share what they can: `SUM`, `AVG` and `COUNT` of one column have one sum and one count.

use super::call::{AggregateCall, field};
use super::user;
use crate::row::{RowCodec, SortOptions};
use arrow::datatypes::{DataType, FieldRef, IntervalUnit};
use flugs_sql_types::{AggregateKind as Kind, UserFunction};
use flugs_types::{Error, Result};

/// What an accumulator does with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// Counts rows. One word.
    Count,
    /// Adds integers, wrapping. Two words: sum, count.
    SumInt,
    /// Adds floats. Two words: sum, count. `single`: in the precision of `FLOAT`.
    SumFloat { single: bool },
    /// Adds decimals and intervals. Four words: sum, count.
    SumWide,
    /// Keeps the least or greatest of what fits a word. Two words: ordered value, whether there is one.
    Best { max: bool },
    /// The same of decimals. Three words.
    BestWide { max: bool },
    /// Count, mean and squared distances from it (Welford). Three words.
    Moments,
    /// Keeps the least or greatest row, by its bytes.
    BestRow { max: bool },
    /// Keeps the first row.
    First,
    /// Keeps the last row.
    Last,
    /// Counts equal rows.
    Counts,
    /// Keeps all rows in order of arrival; nothing is taken back.
    Log,
    /// Puts texts together, in order of arrival; nothing is taken back.
    Text,
    /// Keeps all rows in their order.
    Ordered,
    /// Keeps what a function of the program keeps.
    User,
}

impl Op {
    /// How many words it takes.
    pub(super) fn words(self) -> usize {
        match self {
            Op::Count => 1,
            Op::SumInt | Op::SumFloat { .. } | Op::Best { .. } => 2,
            Op::BestWide { .. } | Op::Moments => 3,
            Op::SumWide => 4,
            _ => 0,
        }
    }

    /// Whether it is one of variable size.
    pub(super) fn is_varying(self) -> bool {
        self.words() == 0
    }
}

/// An accumulator.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) op: Op,
    pub(super) args: Vec<usize>,
    pub(super) order_by: Vec<(usize, SortOptions)>,
    /// Rows with a NULL among the arguments are passed over.
    pub(super) skip_nulls: bool,
    pub(super) filter: Option<usize>,
    /// The view and the bit in it, where equal rows count once.
    pub(super) distinct: Option<(usize, usize)>,
    /// Where its words or its accumulator of variable size stand.
    pub(super) at: usize,
    /// Of the arguments, where rows are kept; without a frequency.
    pub(super) codec: Option<RowCodec>,
    /// Of the sort keys.
    pub(super) order: Option<RowCodec>,
    /// The program's function, where it is one.
    pub(super) user: Option<UserFunction>,
    /// What stands between texts that are put together.
    pub(super) separator: Option<String>,
}

/// How a result is made of an accumulator.
#[derive(Debug, Clone)]
pub(super) struct Finish {
    pub(super) kind: Kind,
    pub(super) slot: usize,
    pub(super) result: FieldRef,
    /// The type of the first argument.
    pub(super) argument: DataType,
}

/// Equal rows of these columns count once, for each of the filters on its own.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) args: Vec<usize>,
    pub(super) filters: Vec<Option<usize>>,
    pub(super) codec: RowCodec,
    /// Whether rows with a NULL count for nobody.
    pub(super) skip_nulls: bool,
    /// Where its words stand, if it is kept in a table of its own: how many values a group has.
    pub(super) word: Option<usize>,
    /// Where its set stands, if it is kept in the group's state.
    pub(super) varying: Option<usize>,
}

impl View {
    /// Whether a value's number is a bit for each filter; else each filter has an entry of its own, which counts.
    pub(super) fn has_bits(&self, retract: bool) -> bool {
        !retract && self.filters.len() < 63
    }
}

/// Where the sets of distinct values stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SetsAt {
    /// In the group's state.
    #[default]
    State,
    /// In a table of their own.
    Table,
    /// With another operator, which has told equal rows apart: accumulators are merged as they are.
    Elsewhere,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    pub(super) finishes: Vec<Finish>,
    pub(super) views: Vec<View>,
    pub(super) words: usize,
    pub(super) varyings: usize,
    pub(super) sets: SetsAt,
}

impl Layout {
    /// The words of sets stand behind all others, so accumulators have the same places wherever sets are.
    pub(super) fn new(
        calls: &[AggregateCall],
        input: &[FieldRef],
        retract: bool,
        reserved: usize,
        sets: SetsAt,
    ) -> Result<Self> {
        let mut layout = Layout { words: reserved, sets, ..Layout::default() };
        let mut order: Vec<usize> = (0..calls.len()).collect();
        order.sort_by_key(|at| calls[*at].place);
        let mut finishes = vec![None; calls.len()];
        for at in order {
            finishes[at] = Some(layout.add(&calls[at], input, retract)?);
        }
        layout.finishes = finishes.into_iter().flatten().collect();
        for slot in &mut layout.slots {
            let (at, n) = match slot.op.is_varying() {
                true => (&mut layout.varyings, 1),
                false => (&mut layout.words, slot.op.words()),
            };
            slot.at = *at;
            *at += n;
        }
        for view in &mut layout.views {
            let (place, at) = match sets {
                SetsAt::State => (&mut view.varying, &mut layout.varyings),
                SetsAt::Table => (&mut view.word, &mut layout.words),
                SetsAt::Elsewhere => break,
            };
            *place = Some(*at);
            *at += 1;
        }
        Ok(layout)
    }

    fn add(&mut self, call: &AggregateCall, input: &[FieldRef], retract: bool) -> Result<Finish> {
        let types = types_of(&call.args, input)?;
        let first = types.first().cloned().unwrap_or(DataType::Null);
        let op = op_of(call, &first, retract)?;
        let nullable = |arg: &usize| input[*arg].is_nullable();
        let keeps_nulls = matches!(
            call.kind,
            Kind::FirstValue { ignore_nulls: false }
                | Kind::LastValue { ignore_nulls: false }
                | Kind::ArrayAgg { ignore_nulls: false }
                | Kind::JsonArrayAgg { absent_on_null: false }
                | Kind::JsonObjectAgg { .. }
                | Kind::SingleValue
                | Kind::User(_)
        );
        let skip_nulls = !keeps_nulls && call.args.iter().any(nullable);
        // COUNT of what is never NULL counts rows.
        let args =
            if op == Op::Count && !skip_nulls && !call.distinct { Vec::new() } else { call.args.clone() };
        let distinct = match call.distinct && !matches!(call.kind, Kind::Min | Kind::Max) {
            true => Some(self.view(call, &types, skip_nulls)?),
            false => None,
        };
        let mut slot = Slot {
            op,
            args,
            order_by: if op == Op::Ordered { call.order_by.clone() } else { Vec::new() },
            skip_nulls,
            filter: call.filter,
            distinct,
            at: 0,
            codec: None,
            order: None,
            user: user::function(&call.kind, retract)?,
            separator: match &call.kind {
                Kind::Listagg { separator } if op == Op::Text => Some(separator.clone()),
                _ => None,
            },
        };
        let kept = if matches!(call.kind, Kind::Percentile { .. }) { &types[..1] } else { &types[..] };
        if op.is_varying() && op != Op::User {
            slot.codec = Some(RowCodec::new(kept)?);
        }
        if op == Op::Ordered {
            let (columns, options): (Vec<usize>, Vec<SortOptions>) = slot.order_by.iter().copied().unzip();
            slot.order = Some(RowCodec::ordered(&types_of(&columns, input)?, &options)?);
        }
        let slot = self.shared(slot);
        Ok(Finish { kind: call.kind.clone(), slot, result: call.result.clone(), argument: first })
    }

    /// The number of an accumulator that does the same, or of this one.
    fn shared(&mut self, slot: Slot) -> usize {
        let same = |other: &Slot| {
            other.op == slot.op
                && other.args == slot.args
                && other.order_by == slot.order_by
                && other.skip_nulls == slot.skip_nulls
                && other.filter == slot.filter
                && other.distinct == slot.distinct
                && other.user == slot.user
                && other.separator == slot.separator
        };
        if let Some(at) = self.slots.iter().position(same) {
            return at;
        }
        self.slots.push(slot);
        self.slots.len() - 1
    }

    fn view(&mut self, call: &AggregateCall, types: &[DataType], skip_nulls: bool) -> Result<(usize, usize)> {
        let at = match self.views.iter().position(|view| view.args == call.args) {
            Some(at) => at,
            None => {
                let codec = RowCodec::new(types)?;
                let (args, filters) = (call.args.clone(), Vec::new());
                self.views.push(View { args, filters, codec, skip_nulls, word: None, varying: None });
                self.views.len() - 1
            }
        };
        let view = &mut self.views[at];
        view.skip_nulls &= skip_nulls;
        let bit = match view.filters.iter().position(|filter| *filter == call.filter) {
            Some(bit) => bit,
            None => {
                view.filters.push(call.filter);
                view.filters.len() - 1
            }
        };
        match u8::try_from(bit) {
            Ok(_) => Ok((at, bit)),
            Err(_) => {
                Err(Error::job("more than 256 different filters of DISTINCT aggregates of the same columns"))
            }
        }
    }
}

fn types_of(columns: &[usize], input: &[FieldRef]) -> Result<Vec<DataType>> {
    columns.iter().map(|column| Ok(field(input, *column)?.data_type().clone())).collect()
}

fn op_of(call: &AggregateCall, argument: &DataType, retract: bool) -> Result<Op> {
    let ordered = !call.order_by.is_empty();
    Ok(match &call.kind {
        Kind::Count => Op::Count,
        Kind::Sum | Kind::Sum0 => match sum_of(argument) {
            Some(op) => op,
            None => return Err(unsupported(call, argument)),
        },
        Kind::Avg => match sum_of(argument) {
            Some(Op::SumFloat { .. }) => Op::SumFloat { single: false },
            Some(op) => op,
            None => return Err(unsupported(call, argument)),
        },
        Kind::Min | Kind::Max if retract => Op::Counts,
        Kind::Min | Kind::Max => {
            let max = call.kind == Kind::Max;
            match argument {
                DataType::Decimal128(..) => Op::BestWide { max },
                _ if fits_a_word(argument) => Op::Best { max },
                _ => Op::BestRow { max },
            }
        }
        Kind::StddevPop | Kind::StddevSamp | Kind::VarPop | Kind::VarSamp => Op::Moments,
        Kind::User(_) => Op::User,
        Kind::Collect | Kind::Percentile { .. } | Kind::SingleValue => Op::Counts,
        Kind::FirstValue { .. } if !retract && !ordered => Op::First,
        Kind::LastValue { .. } if !retract && !ordered => Op::Last,
        Kind::FirstValue { .. } | Kind::LastValue { .. } => Op::Ordered,
        Kind::Listagg { .. } if !retract && !ordered => Op::Text,
        Kind::Listagg { .. }
        | Kind::ArrayAgg { .. }
        | Kind::JsonArrayAgg { .. }
        | Kind::JsonObjectAgg { .. } => {
            if retract || ordered {
                Op::Ordered
            } else {
                Op::Log
            }
        }
        _ => return Err(unsupported(call, argument)),
    })
}

fn sum_of(argument: &DataType) -> Option<Op> {
    Some(match argument {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Op::SumInt,
        DataType::Interval(IntervalUnit::YearMonth) => Op::SumInt,
        DataType::Float32 => Op::SumFloat { single: true },
        DataType::Float64 => Op::SumFloat { single: false },
        DataType::Decimal128(..) | DataType::Interval(IntervalUnit::MonthDayNano) => Op::SumWide,
        // Of the untyped NULL.
        DataType::Null => Op::SumInt,
        _ => return None,
    })
}

/// Whether values can be ordered as words.
fn fits_a_word(argument: &DataType) -> bool {
    matches!(
        argument,
        DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::Time32(_)
            | DataType::Timestamp(..)
            | DataType::Interval(IntervalUnit::YearMonth)
    )
}

fn unsupported(call: &AggregateCall, argument: &DataType) -> Error {
    Error::job(format!("{} of {argument} is not supported", call.kind.name()))
        .mend("cast the argument, or use another aggregate")
}
