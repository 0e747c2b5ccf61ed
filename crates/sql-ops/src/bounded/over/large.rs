//! One partition that does not fit into memory.
//!
//! Its rows go to a spool, and what frames that only grow give for them to others: for each row, or for each set of rows that are equal
//! in order. Then both are read side by side. Other frames and functions need all rows at hand.

use super::rows::Rows;
use crate::aggregate::{AggregateCall, Aggregator, AggregatorOptions, States};
use crate::bounded::spec::BoundedOverSpec;
use crate::bounded::spill::{Ranking, Record, Spool, SpoolReader, Spools};
use crate::outbox::BATCH_ROWS;
use crate::over::{Frame, FrameBound, FrameUnit, OverCall};
use crate::rank::RankKind;
use crate::rank::outgoing::record_batch;
use crate::row::RowCodec;
use arrow::array::{ArrayRef, Int64Array, UInt32Array};
use arrow::compute::{concat, take};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_types::WindowKind;
use flugs_task::Output;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// How far a frame reaches that begins with the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Row,
    /// The last row that is equal in order.
    Peers,
    Partition,
}

fn reach(frame: Frame) -> Option<Reach> {
    match (frame.start, frame.end, frame.unit) {
        (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing, _) => Some(Reach::Partition),
        (FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameUnit::Rows) => Some(Reach::Row),
        (FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameUnit::Range) => Some(Reach::Peers),
        _ => None,
    }
}

fn rank_of(function: &WindowKind) -> Option<RankKind> {
    match function {
        WindowKind::RowNumber => Some(RankKind::RowNumber),
        WindowKind::Rank => Some(RankKind::Rank),
        WindowKind::DenseRank => Some(RankKind::DenseRank),
        _ => None,
    }
}

/// Whether these functions can be had without all rows at hand.
pub(super) fn can_stream(calls: &[OverCall]) -> bool {
    calls.iter().all(|call| match &call.function {
        WindowKind::Aggregate(_) => reach(call.frame).is_some(),
        function => rank_of(function).is_some(),
    })
}

/// One aggregate, whose state is that of all rows that have come.
struct Growing {
    reach: Reach,
    call: usize,
    aggregator: Aggregator,
    codec: RowCodec,
    states: States,
}

/// Results that are read back.
struct Results {
    reader: SpoolReader,
    /// For how many more rows the result at hand is.
    rows: u64,
}

/// See the module.
pub(super) struct Large {
    spec: BoundedOverSpec,
    rows: RowCodec,
    growing: Vec<Growing>,
    ranks: Vec<(usize, RankKind)>,
    /// The rows, then the results of each aggregate.
    spools: Spools,
    /// The order of the last row, and how many of the last rows have it.
    peers: (Vec<u8>, u64),
    reading: Option<Reading>,
}

struct Reading {
    rows: SpoolReader,
    results: Vec<Results>,
    ranking: Ranking,
}

impl Large {
    /// No rows of the partition yet.
    pub(super) fn new(spec: &BoundedOverSpec, rows: &RowCodec) -> Result<Self> {
        let width = spec.input.fields().len();
        let (mut growing, mut ranks) = (Vec::new(), Vec::new());
        for (at, call) in spec.calls.iter().enumerate() {
            if let Some(kind) = rank_of(&call.function) {
                ranks.push((at, kind));
                continue;
            }
            let (WindowKind::Aggregate(kind), Some(reach)) = (&call.function, reach(call.frame)) else {
                return Err(Error::bug("a function needs all rows of a partition at hand"));
            };
            let aggregate = AggregateCall {
                kind: kind.clone(),
                args: call.arguments.clone(),
                distinct: call.distinct,
                filter: call.filter,
                order_by: Vec::new(),
                result: spec.output.fields()[width + at].clone(),
                place: at,
            };
            let aggregator =
                Aggregator::new(&[aggregate], spec.input.fields(), AggregatorOptions::default())?;
            let mut states = aggregator.states();
            states.push_new();
            let codec = RowCodec::new(&[spec.output.fields()[width + at].data_type().clone()])?;
            growing.push(Growing { reach, call: at, aggregator, codec, states });
        }
        Ok(Large {
            spools: Spools::new(&spec.spill, 1 + growing.len()),
            spec: spec.clone(),
            rows: rows.clone(),
            growing,
            ranks,
            peers: (Vec::new(), 0),
            reading: None,
        })
    }

    /// Further rows. Between these, [`settle`](Self::settle) until it is done.
    pub(super) fn add(&mut self, rows: &Rows) -> Result<()> {
        let columns = self.rows.decode(rows.iter().map(|record| record.value))?;
        let batch = ChangeBatch::inserts(record_batch(&self.spec.input, columns, rows.len())?);
        let mut ends = Vec::new();
        for (at, record) in rows.iter().enumerate() {
            self.spools.push(0, record)?;
            let (key, count) = &mut self.peers;
            if *count > 0 && key != record.key {
                ends.push((at, *count));
                *count = 0;
            }
            if *count == 0 {
                key.clear();
                key.extend_from_slice(record.key);
            }
            *count += 1;
        }
        let each: Vec<(usize, u64)> = (1..=rows.len()).map(|end| (end, 1)).collect();
        for (at, growing) in self.growing.iter_mut().enumerate() {
            let ends = match growing.reach {
                Reach::Row => &each,
                Reach::Peers => &ends,
                Reach::Partition => &Vec::new(),
            };
            growing.add(&batch, ends, |record| self.spools.push(1 + at, record))?;
        }
        Ok(())
    }

    /// A step towards the memory that is allowed. Says whether there is nothing left to do.
    pub(super) fn settle(&mut self) -> Result<bool> {
        if self.reading.is_some() { Ok(true) } else { self.spools.settle() }
    }

    /// All rows have come.
    pub(super) fn finish(&mut self) -> Result<()> {
        let peers = self.peers.1;
        for (at, growing) in self.growing.iter_mut().enumerate() {
            let rows = match growing.reach {
                Reach::Row => continue,
                Reach::Peers => peers,
                Reach::Partition => u64::MAX,
            };
            let values = growing.aggregator.values(&growing.states)?;
            growing.put(&values, &[(0, rows)], |record| self.spools.push(1 + at, record))?;
        }
        let spools = std::mem::replace(&mut self.spools, Spools::new(&self.spec.spill, 0));
        let mut readers = spools.into_spools().into_iter().map(|mut spool: Spool| spool.reader());
        let rows = readers.next().ok_or_else(|| Error::bug("a partition has no rows"))?;
        let results = readers.map(|reader| Results { reader, rows: 0 }).collect();
        self.reading = Some(Reading { rows, results, ranking: Ranking::default() });
        Ok(())
    }

    /// Hands on some rows with their results; whether there are more.
    pub(super) fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<bool> {
        let reading = self.reading.as_mut().ok_or_else(|| Error::bug("a partition is not read yet"))?;
        let (mut rows, mut ranks) = (Rows::default(), Vec::new());
        while rows.len() < BATCH_ROWS && reading.rows.advance()? {
            let record = reading.rows.record();
            // All rows are of one group.
            ranks.push(reading.ranking.next(&[], record.key));
            rows.push(record);
        }
        if rows.is_empty() {
            return Ok(false);
        }
        let mut columns = self.rows.decode(rows.iter().map(|record| record.value))?;
        let width = columns.len();
        columns.resize(width + self.spec.calls.len(), columns.first().cloned().unwrap_or_else(no_column));
        for (call, kind) in &self.ranks {
            columns[width + call] =
                Arc::new(Int64Array::from_iter_values(ranks.iter().map(|rank| rank.of(*kind) as i64)));
        }
        for (growing, results) in self.growing.iter().zip(&mut reading.results) {
            columns[width + growing.call] = growing.read(results, rows.len())?;
        }
        let batch = record_batch(&self.spec.output, columns, rows.len())?;
        let _ = out.push(ChangeBatch::inserts(batch))?;
        Ok(true)
    }
}

fn no_column() -> ArrayRef {
    Arc::new(Int64Array::new_null(0))
}

impl Growing {
    /// Takes rows. Before each of the places comes a result, for so many rows.
    fn add(
        &mut self,
        batch: &ChangeBatch,
        ends: &[(usize, u64)],
        give: impl FnMut(Record<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut from, mut values) = (0, Vec::with_capacity(ends.len()));
        for (end, _) in ends {
            self.take(batch, from, *end)?;
            from = *end;
            values.extend(self.aggregator.values(&self.states)?);
        }
        self.take(batch, from, batch.len())?;
        self.put(&values, ends, give)
    }

    fn take(&mut self, batch: &ChangeBatch, from: usize, to: usize) -> Result<()> {
        if from == to {
            return Ok(());
        }
        self.aggregator.update(&batch.slice(from, to - from), &vec![0; to - from], &mut self.states)
    }

    fn put(
        &self,
        values: &[ArrayRef],
        ends: &[(usize, u64)],
        mut give: impl FnMut(Record<'_>) -> Result<()>,
    ) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        let values =
            concat(&values).map_err(|e| Error::bug("results of one call differ in type").caused_by(e))?;
        let encoded = self.codec.encode(&[values], ends.len())?;
        for (value, (_, rows)) in encoded.iter().zip(ends) {
            give(Record { key: &rows.to_le_bytes(), value })?;
        }
        Ok(())
    }

    /// The results of the next rows.
    fn read(&self, results: &mut Results, rows: usize) -> Result<ArrayRef> {
        let (mut values, mut places) = (Rows::default(), Vec::with_capacity(rows));
        while places.len() < rows {
            if results.rows == 0 {
                let more = results.reader.advance()?;
                let count = results.reader.record().key.try_into().map(u64::from_le_bytes);
                results.rows = count.ok().filter(|count| more && *count > 0).ok_or_else(missing)?;
                values.push(results.reader.record());
            } else if values.is_empty() {
                values.push(results.reader.record());
            }
            let take = results.rows.min((rows - places.len()) as u64);
            places.resize(places.len() + take as usize, values.len() as u32 - 1);
            results.rows -= take;
        }
        let column = self.codec.decode(values.iter().map(|record| record.value))?;
        let column = column.first().ok_or_else(missing)?;
        take(column, &UInt32Array::from(places), None)
            .map_err(|e| Error::bug("a result is not there").caused_by(e))
    }
}

fn missing() -> Error {
    Error::bug("a row of a partition has no result")
}
