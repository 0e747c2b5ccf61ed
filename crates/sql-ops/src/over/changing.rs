//! Functions over rows in any order, which come and go: results are updated.
//!
//! A partition that a bundle has touched is evaluated anew as a whole, and rows whose results are others are given. Over a bounded
//! input that is done once, at its end.

use super::Mode;
use super::calls::{Calls, Placed};
use super::history::NONE;
use super::places::{Segment, distances};
use super::script::Script;
use super::spec::{FrameBound, FrameUnit, OverMode, OverSpec};
use super::timed::pick;
use crate::rank::columns::{Encoded, types_of};
use crate::rank::expiry::Expiry;
use crate::rank::outgoing::{OUTPUT_ROWS, Outgoing, record_batch};
use crate::row::{EncodedRows, RowBytes, RowCodec, SortOptions};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_derive::Data;
use flugs_sql_types::WindowKind;
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Clock, Result, RowKind, Timestamp, hash_key};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A row, and the results that were given with it; empty before that.
#[derive(Debug, Clone, Default, Data)]
#[data(crate = "flugs_batch")]
struct Stored {
    row: RowBytes,
    results: RowBytes,
}

/// A partition.
#[derive(Debug, Clone, Default, Data)]
#[data(crate = "flugs_batch")]
struct Partition {
    /// By order, those of one order as they came.
    rows: BTreeMap<(RowBytes, u64), Stored>,
    /// How many have come.
    next: u64,
    touched: Timestamp,
}

/// A partition that the bundle has touched.
struct Touched {
    key: RowBytes,
    hash: u64,
    /// Rows that have gone.
    gone: Vec<Stored>,
    /// The first order of a row that has come or gone.
    first: Option<RowBytes>,
}

/// A partition that is evaluated together with others.
struct Part {
    hash: u64,
    key: RowBytes,
    /// Its rows among those of all.
    rows: Range<usize>,
    /// The first of its rows whose results may be others now, and the place of these among all that are made.
    from: usize,
    results: Range<usize>,
}

/// See the module.
pub(super) struct Changing {
    at_end: bool,
    update_before: bool,
    retract_on_expiry: bool,
    calls: Calls,
    keys: Encoded,
    orders: Encoded,
    rows: Encoded,
    results: RowCodec,
    /// The column that frames measure distances by, and whether it is descending.
    measured: Option<(usize, bool)>,
    input: SchemaRef,
    partitions: KeyedTable<RowBytes, Partition>,
    expiry: Option<Expiry>,
    clock: Arc<dyn Clock>,
    touched: Vec<Touched>,
    /// Places in `touched`.
    places: HashMap<RowBytes, usize>,
    /// How many of `touched` are evaluated.
    given: usize,
    outgoing: Outgoing,
}

impl Changing {
    pub(super) fn open(spec: &OverSpec, context: &mut OpenContext<'_>) -> Result<Self> {
        let all: Vec<usize> = (0..spec.output.fields().len()).collect();
        let types = types_of(&spec.output, &all)?;
        let codec = RowCodec::new(&types)?;
        let has_distance = |bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
        let measures = spec.calls.iter().any(|call| {
            call.frame.unit == FrameUnit::Range
                && (has_distance(call.frame.start) || has_distance(call.frame.end))
        });
        let measured = spec.order.first().filter(|_| measures);
        Ok(Changing {
            at_end: spec.mode == OverMode::Bounded,
            update_before: spec.emit_update_before,
            retract_on_expiry: spec.retract_on_expiry,
            calls: Calls::new(spec)?,
            keys: Encoded::new(&spec.input, &spec.keys)?,
            orders: Encoded::ordered(&spec.input, &spec.order)?,
            rows: Encoded::all(&spec.input)?,
            results: RowCodec::new(&types[spec.input.fields().len()..])?,
            measured: measured.map(|(column, SortOptions { descending, .. })| (*column, *descending)),
            input: spec.input.clone(),
            partitions: context.state.keyed("partitions")?,
            expiry: Expiry::open(context, spec.ttl),
            clock: Arc::clone(context.clock),
            touched: Vec::new(),
            places: HashMap::new(),
            given: 0,
            outgoing: Outgoing::new(codec, spec.output.clone(), false),
        })
    }

    fn take_row(&mut self, row: usize, kind: RowKind, now: Timestamp) {
        let (hash, key) = (self.keys.rows().hash(row), self.keys.rows().to_key(row));
        let partition = self.partitions.get_or_insert_hashed(hash, &key, Partition::default);
        let mut expired = Vec::new();
        if let Some(expiry) = &mut self.expiry {
            if !partition.rows.is_empty() && expiry.is_over(partition.touched, now) {
                expiry.count();
                let rows = std::mem::take(&mut partition.rows).into_values();
                expired.extend(rows.filter(|_| self.retract_on_expiry));
            }
            expiry.touch(now);
            partition.touched = now;
        }
        let touched = &mut self.touched;
        let place = *self.places.entry(key).or_insert_with_key(|key| {
            touched.push(Touched { key: key.clone(), hash, gone: Vec::new(), first: None });
            touched.len() - 1
        });
        let Touched { gone, first, .. } = &mut touched[place];
        gone.append(&mut expired);
        let (order, row) = (self.orders.rows().to_key(row), self.rows.rows().to_key(row));
        if first.as_ref().is_none_or(|first| *first > order) {
            *first = Some(order.clone());
        }
        if kind.is_addition() {
            // A row that has gone and comes again is the same, at another place perhaps.
            let again = gone.iter().position(|stored| stored.row == row && !stored.results.is_empty());
            let stored =
                again.map(|at| gone.swap_remove(at)).unwrap_or(Stored { row, results: RowBytes::default() });
            partition.rows.insert((order, partition.next), stored);
            partition.next += 1;
            return;
        }
        let equals = partition.rows.range((order.clone(), 0)..=(order, u64::MAX));
        let found = equals.into_iter().find(|(_, stored)| stored.row == row).map(|(place, _)| place.clone());
        gone.extend(found.and_then(|place| partition.rows.remove(&place)));
    }

    /// Evaluates partitions that were touched, and gives what has changed.
    fn give_touched(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            let mut parts: Vec<Part> = Vec::new();
            while parts.last().is_none_or(|part| part.rows.end < OUTPUT_ROWS)
                && let Some(part) = self.next_part(parts.last())
            {
                parts.extend(part);
            }
            let done = self.given == self.touched.len();
            if !parts.is_empty() {
                let results = self.evaluate(&parts)?;
                self.compare(&parts, &results);
            }
            if (done || self.outgoing.len() >= OUTPUT_ROWS) && !self.outgoing.send(out)? {
                return Ok(Progress::More);
            }
            if done {
                self.touched.clear();
                self.places.clear();
                self.given = 0;
                return Ok(Progress::Done);
            }
        }
    }

    /// The next partition that was touched, behind `last`; `Some(None)` of one of which no row is left.
    fn next_part(&mut self, last: Option<&Part>) -> Option<Option<Part>> {
        let touched = self.touched.get_mut(self.given)?;
        self.given += 1;
        for stored in touched.gone.drain(..).filter(|stored| !stored.results.is_empty()) {
            self.outgoing.push_parts(RowKind::Delete, [&stored.row, &stored.results]);
        }
        let (hash, key) = (touched.hash, std::mem::take(&mut touched.key));
        let (rows, results) = last.map_or((0, 0), |last| (last.rows.end, last.results.end));
        let Some(partition) = self.partitions.get_hashed(hash, &key).filter(|p| !p.rows.is_empty()) else {
            self.partitions.remove_hashed(hash, &key);
            return Some(None);
        };
        let n = partition.rows.len();
        let from = match touched.first.take().filter(|_| self.calls.look_back()) {
            Some(first) => n - partition.rows.range((first, 0)..).count(),
            None => 0,
        };
        Some(Some(Part { hash, key, rows: rows..rows + n, from, results: results..results + n - from }))
    }

    /// The results of the rows of these partitions that may be others now, one partition after the other.
    fn evaluate(&self, parts: &[Part]) -> Result<EncodedRows> {
        let partition = |part: &Part| self.partitions.get_hashed(part.hash, &part.key);
        let partitions: Vec<&Partition> = parts.iter().filter_map(partition).collect();
        let count = parts.last().map_or(0, |last| last.rows.end);
        let stored = partitions.iter().flat_map(|partition| partition.rows.values());
        let columns = self.rows.codec().decode(stored.map(|stored| stored.row.as_slice()))?;
        let rows = record_batch(&self.input, columns, count)?;
        let measured = self.measured.map(|(column, descending)| distances(rows.column(column), descending));
        let measured = measured.transpose()?;
        let segments: Vec<(&Part, Segment)> = partitions
            .iter()
            .zip(parts)
            .map(|(partition, part)| {
                let mut segment = Segment::new(partition.rows.keys().map(|(order, _)| order.as_slice()));
                if let Some(values) = &measured {
                    segment.values = values[part.rows.clone()].to_vec();
                }
                (part, segment)
            })
            .collect();
        let mut results: Vec<Option<ArrayRef>> = vec![None; self.calls.len];
        let arguments = self.calls.arguments(&rows)?;
        for set in &self.calls.sets {
            let mut script = Script::default();
            for (part, segment) in &segments {
                let mut walk = script.walk(0, 0);
                for row in part.from..segment.len() {
                    let frame = segment.frame(set.frame, row);
                    walk.move_to(frame.start as u64, frame.end as u64, |number| {
                        (part.rows.start + number as usize) as u32
                    });
                    walk.result();
                }
            }
            let states = segments.iter().map(|_| set.aggregator.new_state()).collect();
            let (values, _) = script.run(&set.aggregator, &arguments, states)?;
            set.calls.iter().zip(values).for_each(|(call, value)| results[*call] = Some(value));
        }
        for placed in &self.calls.placed {
            results[placed.call] = Some(place(placed, &segments, &rows)?);
        }
        let results: Vec<ArrayRef> = results.into_iter().flatten().collect();
        self.results.encode(&results, parts.last().map_or(0, |last| last.results.end))
    }

    /// Gives the rows whose results are others than before, and notes these.
    fn compare(&mut self, parts: &[Part], results: &EncodedRows) {
        for Part { hash, key, from, results: made, .. } in parts {
            if self.at_end {
                let Some(partition) = self.partitions.remove_hashed(*hash, key) else { continue };
                for (stored, at) in partition.rows.values().zip(made.clone()) {
                    self.outgoing.push_parts(RowKind::Insert, [&stored.row, results.row(at)]);
                }
                continue;
            }
            let Some(partition) = self.partitions.get_mut_hashed(*hash, key) else { continue };
            for (stored, at) in partition.rows.values_mut().skip(*from).zip(made.clone()) {
                let new = results.row(at);
                if stored.results.as_slice() == new {
                    continue;
                }
                if stored.results.is_empty() {
                    self.outgoing.push_parts(RowKind::Insert, [&stored.row, new]);
                } else {
                    if self.update_before {
                        self.outgoing.push_parts(RowKind::UpdateBefore, [&stored.row, &stored.results]);
                    }
                    self.outgoing.push_parts(RowKind::UpdateAfter, [&stored.row, new]);
                }
                stored.results = RowBytes::new(new);
            }
        }
    }
}

/// The results of a function of places.
fn place(placed: &Placed, segments: &[(&Part, Segment)], rows: &RecordBatch) -> Result<ArrayRef> {
    let affected = |(part, segment): &(&Part, Segment)| part.from..segment.len();
    let each = |f: &dyn Fn(&Segment, usize) -> usize| -> ArrayRef {
        let of = segments.iter().flat_map(|of| affected(of).map(|row| f(&of.1, row) as i64));
        Arc::new(Int64Array::from_iter_values(of))
    };
    let share = |f: &dyn Fn(&Segment, usize) -> f64| -> ArrayRef {
        let of = segments.iter().flat_map(|of| affected(of).map(|row| f(&of.1, row)));
        Arc::new(Float64Array::from_iter_values(of))
    };
    let found = |f: &dyn Fn(&Segment, usize) -> Option<usize>| {
        let place =
            |of: &(&Part, Segment), row| f(&of.1, row).map_or(NONE, |at| (of.0.rows.start + at) as u32);
        let found = segments.iter().flat_map(|of| affected(of).map(move |row| place(of, row)));
        let own = segments.iter().flat_map(|of| affected(of).map(|row| (of.0.rows.start + row) as u32));
        pick(rows, &placed.arguments, &found.collect::<Vec<_>>(), &own.collect::<Vec<_>>())
    };
    let shifted = |row: usize, by: i64, segment: &Segment| {
        let at = i64::try_from(row).ok()?.checked_add(by)?;
        usize::try_from(at).ok().filter(|at| *at < segment.len())
    };
    Ok(match placed.function {
        WindowKind::Rank => each(&|segment, row| segment.peers[row].start + 1),
        WindowKind::DenseRank => each(&|segment, row| segment.denses[row] + 1),
        WindowKind::Ntile { buckets } => each(&|segment, row| bucket(segment.len(), buckets, row)),
        WindowKind::CumeDist => share(&|segment, row| segment.peers[row].end as f64 / segment.len() as f64),
        WindowKind::PercentRank => share(&|segment, row| match segment.len() {
            1 => 0.0,
            n => segment.peers[row].start as f64 / (n - 1) as f64,
        }),
        WindowKind::Lag { offset } => found(&|segment, row| shifted(row, offset.checked_neg()?, segment))?,
        WindowKind::Lead { offset } => found(&|segment, row| shifted(row, offset, segment))?,
        WindowKind::NthValue { n } => found(&|segment, row| {
            let frame = segment.frame(placed.frame, row);
            let at = frame.start.checked_add(usize::try_from(n).ok()?.checked_sub(1)?)?;
            Some(at).filter(|at| *at < frame.end)
        })?,
        WindowKind::RowNumber | WindowKind::Aggregate(_) => each(&|_, row| row + 1),
    })
}

/// The bucket of a row: the first ones have one row more where they cannot all be of one size.
fn bucket(rows: usize, buckets: u64, row: usize) -> usize {
    let buckets = usize::try_from(buckets).unwrap_or(usize::MAX).max(1);
    let (size, larger) = (rows / buckets, rows % buckets);
    match row < larger * (size + 1) {
        true => row / (size + 1) + 1,
        false => larger + (row - larger * (size + 1)) / size.max(1) + 1,
    }
}

impl Mode for Changing {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.keys.encode(&batch)?;
        self.orders.encode(&batch)?;
        self.rows.encode(&batch)?;
        let now = if self.expiry.is_some() { self.clock.now() } else { Timestamp::EPOCH };
        for row in 0..batch.len() {
            self.take_row(row, batch.kind(row), now);
        }
        if self.at_end {
            self.touched.clear();
            self.places.clear();
            return Ok(Progress::Done);
        }
        self.give_touched(out)
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give_touched(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.expiry.as_ref().and_then(Expiry::next_tick)
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Some(expiry) = &mut self.expiry else { return Ok(Progress::Done) };
        let (retract, outgoing) = (self.retract_on_expiry, &mut self.outgoing);
        expiry.sweep(
            &mut self.partitions,
            now,
            |partition| Some(partition.touched),
            |partition| {
                for stored in partition.rows.values().filter(|stored| retract && !stored.results.is_empty()) {
                    outgoing.push_parts(RowKind::Delete, [&stored.row, &stored.results]);
                }
            },
        );
        Ok(if self.outgoing.send(out)? { Progress::Done } else { Progress::More })
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !self.at_end {
            return Ok(Progress::Done);
        }
        let mut keys: Vec<RowBytes> = self.partitions.iter().map(|(key, _)| key.clone()).collect();
        keys.sort_unstable();
        let touched = |key: RowBytes| Touched { hash: hash_key(&key), key, gone: Vec::new(), first: None };
        self.touched = keys.into_iter().map(touched).collect();
        self.give_touched(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.partitions]
    }
}
