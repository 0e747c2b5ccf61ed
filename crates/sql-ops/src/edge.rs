//! Streams of change batches between operators: which receiver each row goes to.
//!
//! Rows keep their order on the way to one receiver. A `-U` and its `+U` whose keys differ go to different receivers, where
//! each stands alone; pairs of one key stay together.

use crate::row::{EncodedRows, RowCodec};
use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::{DataType, Schema};
use flugs_batch::{Batch, ChangeBatch, Exchanged, Records};
use flugs_task::{
    AnyBox, BroadcastRoute, Channel, ChannelEnds, EdgeFactory, GlobalRoute, Outlet, Route, Side, SidePort,
    Stage, Tee,
};
use flugs_types::{Error, KeyGroup, Result, RowKind, SubtaskId};
use std::sync::Arc;

/// How many rows go to one receiver before it is the next one's turn.
const TURN_ROWS: usize = 1024;

/// A stream of change batches with its route.
pub struct ChangeEdge {
    route: Arc<dyn Fn(SubtaskId) -> Box<dyn Route<ChangeBatch>> + Send + Sync>,
}

impl ChangeEdge {
    /// Rows of one key go to the subtask that owns the key: that of the key group of `hash_key` of the
    /// [`RowBytes`](crate::row::RowBytes) that [`RowCodec::new`] makes of these columns, in this order. Operators behind this edge
    /// must make the keys of their state from the same columns in the same order. NULLs are keys like others.
    pub fn by_key(schema: &Schema, keys: &[usize]) -> Result<Self> {
        let types: Vec<DataType> = keys
            .iter()
            .map(|key| {
                let field = schema.fields().get(*key);
                field
                    .map(|f| f.data_type().clone())
                    .ok_or_else(|| Error::bug(format!("there is no column {key}")))
            })
            .collect::<Result<_>>()?;
        let (codec, keys) = (RowCodec::new(&types)?, keys.to_vec());
        Ok(ChangeEdge::new(move |_| Box::new(KeyRoute::new(codec.clone(), keys.clone()))))
    }

    /// Batches in turn. For streams in which the order between rows does not matter: changes of one key may overtake each other.
    pub fn rebalance() -> Self {
        ChangeEdge::new(|sender| Box::new(TurnRoute { next: sender.index as usize }))
    }

    /// All rows to every receiver.
    pub fn broadcast() -> Self {
        ChangeEdge::new(|_| Box::new(BroadcastRoute))
    }

    /// All rows to the first receiver.
    pub fn global() -> Self {
        ChangeEdge::new(|_| Box::new(GlobalRoute))
    }

    /// A route of one's own.
    pub fn new(route: impl Fn(SubtaskId) -> Box<dyn Route<ChangeBatch>> + Send + Sync + 'static) -> Self {
        ChangeEdge { route: Arc::new(route) }
    }
}

impl EdgeFactory for ChangeEdge {
    fn channel(&self, capacity: usize, ends: ChannelEnds) -> (AnyBox, AnyBox) {
        channel::<ChangeBatch>(capacity, ends)
    }

    fn outlet(&self, sender: SubtaskId, channels: Vec<AnyBox>) -> Result<AnyBox> {
        outlet((self.route)(sender), channels)
    }

    fn tee(&self, stages: Vec<AnyBox>) -> Result<AnyBox> {
        tee::<ChangeBatch>(stages)
    }

    /// Side outputs carry records of batches ([`RowsEdge`]).
    fn side(&self, _: AnyBox) -> Result<Box<dyn SidePort>> {
        Err(Error::bug("a side output carries records: its edge is a RowsEdge"))
    }
}

/// A stream of records each of which is a change batch: between a source and [`Unbatch`](crate::bridge::Unbatch), between
/// [`Rebatch`](crate::bridge::Rebatch) and a sink, and of side outputs. Batches go out in turn.
pub struct RowsEdge;

impl EdgeFactory for RowsEdge {
    fn channel(&self, capacity: usize, ends: ChannelEnds) -> (AnyBox, AnyBox) {
        channel::<Records<ChangeBatch>>(capacity, ends)
    }

    fn outlet(&self, sender: SubtaskId, channels: Vec<AnyBox>) -> Result<AnyBox> {
        outlet::<Records<ChangeBatch>>(Box::new(flugs_task::RebalanceRoute::new(sender)), channels)
    }

    fn tee(&self, stages: Vec<AnyBox>) -> Result<AnyBox> {
        tee::<Records<ChangeBatch>>(stages)
    }

    fn side(&self, stage: AnyBox) -> Result<Box<dyn SidePort>> {
        Ok(Box::new(Side(open::<Box<dyn Stage<Records<ChangeBatch>>>>(stage)?)))
    }
}

fn open<T: 'static>(any: AnyBox) -> Result<T> {
    any.downcast::<T>()
        .map(|t| *t)
        .map_err(|_| Error::bug(format!("a {} was expected here", std::any::type_name::<T>())))
}

fn channel<B: Exchanged>(capacity: usize, ends: ChannelEnds) -> (AnyBox, AnyBox) {
    let channel = Channel::<B>::new(capacity, ends);
    (Box::new(channel.clone()), Box::new(channel))
}

fn outlet<B: Exchanged>(route: Box<dyn Route<B>>, channels: Vec<AnyBox>) -> Result<AnyBox> {
    let channels = channels.into_iter().map(open).collect::<Result<Vec<Arc<Channel<B>>>>>()?;
    let outlet: Box<dyn Stage<B>> = Box::new(Outlet::new(route, channels));
    Ok(Box::new(outlet))
}

fn tee<B: Batch + Clone>(stages: Vec<AnyBox>) -> Result<AnyBox> {
    let stages = stages.into_iter().map(open).collect::<Result<Vec<Box<dyn Stage<B>>>>>()?;
    let tee: Box<dyn Stage<B>> = Box::new(Tee::new(stages));
    Ok(Box::new(tee))
}

/// By key group.
struct KeyRoute {
    codec: RowCodec,
    keys: Vec<usize>,
    encoded: EncodedRows,
    /// The rows of each lane.
    indices: Vec<Vec<u64>>,
}

impl KeyRoute {
    fn new(codec: RowCodec, keys: Vec<usize>) -> Self {
        KeyRoute { codec, keys, encoded: EncodedRows::default(), indices: Vec::new() }
    }
}

impl Route<ChangeBatch> for KeyRoute {
    fn split(&mut self, batch: ChangeBatch, lanes: &mut [ChangeBatch]) -> Result<()> {
        let columns: Vec<ArrayRef> = self.keys.iter().map(|key| batch.column(*key).clone()).collect();
        self.codec.encode_into(&columns, batch.len(), &mut self.encoded)?;
        self.indices.resize_with(lanes.len(), Vec::new);
        let parallelism = lanes.len() as u32;
        for (row, hash) in self.encoded.hashes().iter().enumerate() {
            self.indices[KeyGroup::of_hash(*hash).owner(parallelism) as usize].push(row as u64);
        }
        for (lane, indices) in lanes.iter_mut().zip(&mut self.indices) {
            if indices.len() == batch.len() {
                indices.clear();
                lane.append(batch);
                return Ok(());
            }
            if !indices.is_empty() {
                let taken = batch.take(&UInt64Array::from(std::mem::take(indices)))?;
                lane.append(compact(taken)?);
            }
        }
        Ok(())
    }
}

/// Copies the strings of columns that refer to far more than they hold: each lane would keep the whole batch's strings alive.
fn compact(batch: ChangeBatch) -> Result<ChangeBatch> {
    let sparse = |column: &ArrayRef| -> Option<ArrayRef> {
        match column.data_type() {
            DataType::Utf8View => {
                let strings = column.as_string_view();
                is_sparse(strings.data_buffers(), strings.total_buffer_bytes_used())
                    .then(|| Arc::new(strings.gc()) as ArrayRef)
            }
            DataType::BinaryView => {
                let bytes = column.as_binary_view();
                is_sparse(bytes.data_buffers(), bytes.total_buffer_bytes_used())
                    .then(|| Arc::new(bytes.gc()) as ArrayRef)
            }
            _ => None,
        }
    };
    let rows = batch.rows();
    let columns: Vec<Option<ArrayRef>> = rows.columns().iter().map(sparse).collect();
    if columns.iter().all(Option::is_none) {
        return Ok(batch);
    }
    let columns =
        columns.into_iter().zip(rows.columns()).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
    let rows = arrow::array::RecordBatch::try_new(rows.schema(), columns.collect())
        .map_err(|e| Error::bug("compacted columns do not fit").caused_by(e))?;
    batch.with_rows(rows)
}

fn is_sparse(buffers: &[arrow::buffer::Buffer], used: usize) -> bool {
    used * 2 < buffers.iter().map(|buffer| buffer.len()).sum()
}

/// Batches in turn; a large one is cut, but not between a `-U` and its `+U`.
struct TurnRoute {
    next: usize,
}

impl Route<ChangeBatch> for TurnRoute {
    fn split(&mut self, batch: ChangeBatch, lanes: &mut [ChangeBatch]) -> Result<()> {
        let mut start = 0;
        while start < batch.len() {
            let mut end = batch.len().min(start + TURN_ROWS);
            if end < batch.len() && batch.kind(end - 1) == RowKind::UpdateBefore {
                end += 1;
            }
            let at = self.next % lanes.len();
            lanes[at].append(batch.slice(start, end - start));
            self.next = at + 1;
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{changes, schema, text};
    use arrow::array::RecordBatch;
    use flugs_types::hash_key;
    use std::collections::BTreeMap;

    fn split(edge: &ChangeEdge, batch: &ChangeBatch, lanes: usize) -> Vec<ChangeBatch> {
        let mut route = (edge.route)(SubtaskId::new(0, 1));
        let mut split = vec![ChangeBatch::default(); lanes];
        route.split(batch.clone(), &mut split).unwrap();
        split
    }

    #[test]
    fn rows_go_to_the_owner_of_their_key_in_order() {
        let schema = schema("k BIGINT, s STRING");
        let rows: Vec<String> =
            (0..500).map(|i| format!("+U | {} | text that is not inline {i}", i % 37)).collect();
        let batch = changes(&schema, &rows.join("\n"));
        let lanes = split(&ChangeEdge::by_key(&schema, &[0]).unwrap(), &batch, 3);
        let codec = RowCodec::new(&[DataType::Int64]).unwrap();
        let mut seen = BTreeMap::<i64, u32>::new();
        for (at, lane) in lanes.iter().enumerate() {
            let keys = codec.encode(&[lane.column(0).clone()], lane.len()).unwrap();
            for row in 0..lane.len() {
                assert_eq!(KeyGroup::of_hash(hash_key(&keys.to_key(row))).owner(3) as usize, at);
                let key = lane.column(0).as_primitive::<arrow::datatypes::Int64Type>().value(row);
                let nth = seen.entry(key).or_default();
                let expected = format!("text that is not inline {}", key + 37 * i64::from(*nth));
                assert_eq!(lane.column(1).as_string_view().value(row), expected);
                assert_eq!(lane.kind(row), RowKind::UpdateAfter);
                *nth += 1;
            }
        }
        assert_eq!(lanes.iter().map(Batch::len).sum::<usize>(), 500);
        // A lane holds its own strings, not all lanes'.
        let whole: usize = batch.column(1).as_string_view().data_buffers().iter().map(|b| b.len()).sum();
        let held: usize = lanes[0].column(1).as_string_view().data_buffers().iter().map(|b| b.len()).sum();
        assert!(held < whole * 2 / 3, "{held} of {whole}");
    }

    #[test]
    fn a_batch_of_one_owner_is_handed_on_as_it_is() {
        let schema = schema("k BIGINT");
        let batch = changes(&schema, "+I | 1\n-D | 1");
        let lanes = split(&ChangeEdge::by_key(&schema, &[0]).unwrap(), &batch, 4);
        let full: Vec<&ChangeBatch> = lanes.iter().filter(|l| !l.is_empty()).collect();
        assert_eq!(full.len(), 1);
        assert_eq!(text(full[0]), "+I | 1\n-D | 1");
        assert!(Arc::ptr_eq(full[0].column(0), batch.column(0)));
        assert!(ChangeEdge::by_key(&schema, &[1]).is_err());
    }

    #[test]
    fn turns_do_not_cut_updates() {
        let kinds: Vec<RowKind> = (0..3001)
            .map(|i| match i {
                0 => RowKind::Insert,
                i if i % 2 == 1 => RowKind::UpdateBefore,
                _ => RowKind::UpdateAfter,
            })
            .collect();
        let column: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..3001));
        let rows = RecordBatch::try_from_iter([("v", column)]).unwrap();
        let lanes = split(&ChangeEdge::rebalance(), &ChangeBatch::new(rows, &kinds).unwrap(), 2);
        assert_eq!(lanes.iter().map(Batch::len).collect::<Vec<_>>(), [1025 + 952, 1024]);
        assert_eq!((lanes[1].kind(0), lanes[1].kind(1023)), (RowKind::UpdateBefore, RowKind::UpdateAfter));
        let batch = changes(&schema("k INT"), "+I | 1");
        assert_eq!(split(&ChangeEdge::broadcast(), &batch, 2).iter().map(Batch::len).sum::<usize>(), 2);
        assert_eq!(split(&ChangeEdge::global(), &batch, 2)[0].len(), 1);
    }
}
