//! The first rows of each window.

use super::attached::AttachedRows;
use super::clock::not_open;
use super::closing::ClosingWindows;
use super::shape::Span;
use super::time::{AttachedWindow, inserts_only};
use crate::row::{EncodedRows, RowBytes, RowCodec, SortOptions};
use arrow::array::{ArrayRef, UInt64Array};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Result, Timestamp};

/// How rows are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowRankKind {
    /// `ROW_NUMBER`: rows that are equal in order are numbered as they came.
    RowNumber,
    /// `RANK`: rows that are equal in order have one number, and those behind them count them.
    Rank,
    /// `DENSE_RANK`: likewise, but numbers leave no gaps.
    DenseRank,
}

/// The rows of each window and partition whose rank is in a range, once the window is over. Takes inserts only, gives inserts only,
/// those of a partition by rank; keeps no more rows than can come out. Rows must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct WindowRankSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// Its window columns.
    pub window: AttachedWindow,
    /// The columns of `PARTITION BY` but for the window; none: one partition a window.
    pub keys: Vec<usize>,
    /// The columns of `ORDER BY`.
    pub order: Vec<(usize, SortOptions)>,
    /// How rows are numbered.
    pub kind: WindowRankKind,
    /// The first rank that comes out, from 1.
    pub rank_start: u64,
    /// The last rank that comes out.
    pub rank_end: u64,
    /// Whether the rank is a column (`BIGINT NOT NULL`) behind the others.
    pub rank_column: bool,
    /// The zone of the windows; see [`WindowJoinSpec::zone`](super::WindowJoinSpec::zone).
    pub zone: Option<String>,
    /// The columns of the input, then that of the rank.
    pub output: SchemaRef,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}

/// The rows of a partition that may come out, each with its place in the order, by which they are sorted.
type Ranked = Vec<(RowBytes, RowBytes)>;

impl WindowRankKind {
    /// Whether a row with this order may come out, of a partition with these rows.
    fn admits(self, rows: &Ranked, order: &[u8], rank_end: usize) -> bool {
        if rows.len() < rank_end {
            return true;
        }
        match self {
            WindowRankKind::RowNumber => rows.partition_point(|row| row.0.as_slice() <= order) < rank_end,
            WindowRankKind::Rank => rows.partition_point(|row| row.0.as_slice() < order) < rank_end,
            WindowRankKind::DenseRank => {
                let before = rows.partition_point(|row| row.0.as_slice() < order);
                rows[..before].chunk_by(|a, b| a.0 == b.0).count() < rank_end
            }
        }
    }

    /// Inserts a row behind those that are equal in order, and drops those that cannot come out any more.
    fn insert(self, rows: &mut Ranked, order: RowBytes, row: RowBytes, rank_end: usize) {
        let at = rows.partition_point(|row| row.0 <= order);
        rows.insert(at, (order, row));
        let keep = match self {
            WindowRankKind::RowNumber => rank_end,
            WindowRankKind::Rank => match rows.get(rank_end - 1) {
                Some((last, _)) => rows.partition_point(|row| row.0 <= *last),
                None => rows.len(),
            },
            WindowRankKind::DenseRank => {
                rows.chunk_by(|a, b| a.0 == b.0).take(rank_end).map(<[_]>::len).sum()
            }
        };
        rows.truncate(keep);
    }

    /// The ranks of rows in order.
    fn ranks(self, rows: &Ranked) -> Vec<u64> {
        let (mut ranks, mut dense) = (Vec::with_capacity(rows.len()), 0);
        for equal in rows.chunk_by(|a, b| a.0 == b.0) {
            let first = ranks.len() as u64 + 1;
            dense += 1;
            ranks.extend((0..equal.len() as u64).map(|i| match self {
                WindowRankKind::RowNumber => first + i,
                WindowRankKind::Rank => first,
                WindowRankKind::DenseRank => dense,
            }));
        }
        ranks
    }
}

/// Carries out a [`WindowRankSpec`].
pub struct WindowRank {
    spec: WindowRankSpec,
    opened: Option<Opened>,
}

struct Opened {
    windows: ClosingWindows<Ranked>,
    rows: AttachedRows,
    codec: RowCodec,
    order: RowCodec,
    orders: EncodedRows,
}

impl WindowRank {
    /// An operator that is not open yet.
    pub fn new(spec: WindowRankSpec) -> Self {
        WindowRank { spec, opened: None }
    }

    fn rank_end(&self) -> usize {
        usize::try_from(self.spec.rank_end).unwrap_or(usize::MAX)
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let spec = &self.spec;
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.windows.give(&opened.codec, &spec.output, spec.rank_column, out, |rows, ready| {
            let ranks = spec.kind.ranks(&rows);
            let ranked = rows.into_iter().zip(ranks).filter(|(_, rank)| *rank >= spec.rank_start);
            ready.extend(ranked.map(|((_, row), rank)| (row, rank as i64)));
        })
    }
}

impl Operator for WindowRank {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        let type_of = |column: usize| spec.input.field(column).data_type().clone();
        let types: Vec<_> = (0..spec.input.fields().len()).map(type_of).collect();
        let order: Vec<_> = spec.order.iter().map(|(column, _)| type_of(*column)).collect();
        let options: Vec<_> = spec.order.iter().map(|(_, options)| *options).collect();
        self.opened = Some(Opened {
            windows: ClosingWindows::open(context, spec.zone.as_deref())?,
            rows: AttachedRows::open(
                context,
                &spec.input,
                spec.window,
                &spec.keys,
                spec.late_output.then_some(0),
            )?,
            codec: RowCodec::new(&types)?,
            order: RowCodec::ordered(&order, &options)?,
            orders: EncodedRows::default(),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        inserts_only(&batch, "a ranking within windows")?;
        let (kind, rank_end) = (self.spec.kind, self.rank_end());
        let Opened { windows, rows, codec, order, orders } = self.opened.as_mut().ok_or_else(not_open)?;
        rows.place(&batch, &windows.clock, out)?;
        let columns: Vec<ArrayRef> =
            self.spec.order.iter().map(|(column, _)| batch.column(*column).clone()).collect();
        order.encode_into(&columns, batch.len(), orders)?;
        // Most rows of a large partition are below its last rank: they are not encoded.
        let mut candidates: Vec<(Span, usize)> = Vec::new();
        for run in &rows.runs {
            let pane = windows.panes.pane(&run.span);
            candidates.extend(run.rows().map(|row| (run.span, row)).filter(|(_, row)| {
                let partition =
                    pane.and_then(|p| p.get_hashed(rows.encoded.hash(*row), &rows.encoded.to_key(*row)));
                rank_end > 0 && partition.is_none_or(|ranked| kind.admits(ranked, orders.row(*row), rank_end))
            }));
        }
        let indices: UInt64Array = candidates.iter().map(|(_, row)| *row as u64).collect();
        let encoded = codec.encode(batch.take(&indices)?.rows().columns(), candidates.len())?;
        for (at, (span, row)) in candidates.into_iter().enumerate() {
            let key = rows.encoded.to_key(row);
            let pane = windows.panes.pane_mut(span);
            let ranked = pane.get_or_insert_hashed(rows.encoded.hash(row), &key, Ranked::default);
            if kind.admits(ranked, orders.row(row), rank_end) {
                kind.insert(ranked, orders.to_key(row), encoded.to_key(at), rank_end);
            }
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.windows.clock.advance(watermark) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.windows.clock.barrier();
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.as_mut().map_or_else(Vec::new, |opened| opened.windows.tables())
    }
}
