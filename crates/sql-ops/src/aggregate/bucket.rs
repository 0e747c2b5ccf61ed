//! The sets of distinct values of one bucket of a key; see [`SplitAggregate`](super::SplitAggregate).

use super::bundled::{Bundled, Work as BundleWork};
use super::distinct::{DistinctTable, as_snapshot};
use super::engine::Aggregator;
use super::group::Work;
use super::layout::SetsAt;
use super::local_groups::LocalGroups;
use super::spec::GroupAggregateSpec;
use super::state::{AggState, States};
use crate::phases::{between, summed_up};
use crate::row::{RowBytes, RowCodec};
use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::OpenContext;
use flugs_types::{Error, Result};

struct Opened {
    /// Accumulators, and behind them the words of the sets.
    aggregator: Aggregator,
    /// Accumulators alone.
    sums: Aggregator,
    bucket_codec: RowCodec,
    key_codec: RowCodec,
    /// How many rows a bucket has, where rows are taken back, and the words of its sets.
    buckets: KeyedTable<RowBytes, AggState>,
    sets: DistinctTable,
}

/// Tells the values of a key's bucket apart, and hands on what they mean to the key's accumulators: the change of each key and batch,
/// as a partial state. It says nothing of keys to which a batch means nothing.
///
/// State: `buckets` and `distinct`, by key and bucket.
pub type BucketAggregate = Bundled<BucketWork>;

/// See [`BucketAggregate`].
pub struct BucketWork {
    spec: GroupAggregateSpec,
    /// The keys, and the column of the bucket.
    bucket_keys: Vec<usize>,
    output: SchemaRef,
    opened: Option<Opened>,
    work: Work,
    keys: LocalGroups,
}

/// The keys of a batch, and what it means to them.
struct Sums {
    states: States,
    /// The first row of each, in the batch.
    first_rows: Vec<u32>,
    /// Whether there is anything to be said.
    said: Vec<bool>,
}

impl BucketAggregate {
    pub(super) fn new(spec: GroupAggregateSpec, bucket_keys: Vec<usize>) -> Self {
        let (output, input, bundle) = (between(&spec.input, []), spec.input.clone(), spec.bundle);
        let (work, keys) = (Work::default(), LocalGroups::default());
        Bundled::of(BucketWork { spec, bucket_keys, output, opened: None, work, keys }, bundle, input)
    }
}

fn taken(columns: &[ArrayRef], rows: &[u32]) -> Result<Vec<ArrayRef>> {
    let rows = UInt64Array::from_iter_values(rows.iter().map(|row| u64::from(*row)));
    let taken = columns.iter().map(|column| take(column, &rows, None)).collect::<std::result::Result<_, _>>();
    taken.map_err(|e| Error::bug("keys cannot be taken from their rows").caused_by(e))
}

impl Opened {
    /// Loads the buckets at hand, with accumulators over no rows; gives how many rows each has.
    fn load(&self, spec: &GroupAggregateSpec, work: &Work, states: &mut States) -> Vec<Option<i64>> {
        let (counts, behind) = (spec.count_words(), self.sums.words());
        let load = |(key, hash): (&RowBytes, &u64)| {
            let at = states.len();
            states.push_new();
            let stored = self.buckets.get_hashed(*hash, key)?;
            // One of another layout, of another query, counts as new.
            let stored =
                Some(stored).filter(|stored| stored.words().len() == counts + states.stride - behind)?;
            let (count, of_sets) = stored.words().split_at(counts);
            states.words_mut(at)[..counts].copy_from_slice(count);
            states.words_mut(at)[behind..].copy_from_slice(of_sets);
            Some(count.first().map_or(0, |count| *count as i64))
        };
        work.keys.iter().zip(&work.hashes).map(load).collect()
    }

    /// Writes rows' counts and the words of sets back; buckets without rows go.
    fn store(&mut self, spec: &GroupAggregateSpec, work: &Work, states: &States, before: &[Option<i64>]) {
        let (counts, behind) = (spec.count_words(), self.sums.words());
        for (at, (key, hash)) in work.keys.iter().zip(&work.hashes).enumerate() {
            let words = states.words(at);
            if spec.retract && words[0] as i64 <= 0 {
                if before[at].is_some() {
                    self.buckets.remove_hashed(*hash, key);
                }
                self.aggregator.clear_sets(&mut self.sets, words, *hash, key);
                continue;
            }
            let kept: Vec<u64> = words[..counts].iter().chain(&words[behind..]).copied().collect();
            *self.buckets.get_or_insert_hashed(*hash, key, AggState::default) =
                AggState::of(&kept, Vec::new());
        }
    }

    /// What the buckets at hand mean to their keys.
    fn sum_up(
        &self,
        spec: &GroupAggregateSpec,
        work: &Work,
        keys: &LocalGroups,
        before: &[Option<i64>],
        buckets: &mut States,
    ) -> Result<Sums> {
        let mut states = self.sums.states();
        (0..keys.len()).for_each(|_| states.push_new());
        let mut said = vec![false; keys.len()];
        for (bucket, key) in keys.of_rows().iter().enumerate() {
            let key = *key as usize;
            let had = before[bucket];
            if spec.retract {
                let has = buckets.words(bucket)[0] as i64;
                if had.is_none() && has <= 0 {
                    buckets.reset(bucket);
                    continue;
                }
                let count = &mut states.words_mut(key)[0];
                *count = count.wrapping_add(has.wrapping_sub(had.unwrap_or(0)) as u64);
            }
            said[key] |= had.is_none();
        }
        self.sums.merge(buckets, keys.of_rows(), &mut states)?;
        said.iter_mut().enumerate().for_each(|(key, said)| *said |= !states.is_new(key));
        let first = |bucket: &u32| work.local.first_rows()[*bucket as usize];
        Ok(Sums { states, first_rows: keys.first_rows().iter().map(first).collect(), said })
    }
}

impl BundleWork for BucketWork {
    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.opened = Some(Opened {
            aggregator: self.spec.aggregator(SetsAt::Table)?,
            sums: self.spec.aggregator(SetsAt::Elsewhere)?,
            bucket_codec: self.spec.codec_of(&self.bucket_keys)?,
            key_codec: self.spec.key_codec()?,
            buckets: context.state.keyed("buckets")?,
            sets: context.state.panes("distinct")?,
        });
        Ok(())
    }

    fn aggregate(&mut self, batch: &ChangeBatch) -> Result<Option<ChangeBatch>> {
        let BucketWork { spec, bucket_keys, opened, work, keys, .. } = self;
        let opened = opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let columns: Vec<ArrayRef> = bucket_keys.iter().map(|at| batch.column(*at).clone()).collect();
        work.find_groups(&opened.bucket_codec, &columns, batch.len())?;
        let mut states = opened.aggregator.states();
        let before = opened.load(spec, work, &mut states);
        if spec.retract {
            states.count_rows(batch, work.local.of_rows());
        }
        let (names, hashes) = (&work.keys, &work.hashes);
        let sets = &mut opened.sets;
        opened.aggregator.update_with(batch, work.local.of_rows(), &mut states, sets, names, hashes)?;
        let columns = taken(&columns[..spec.keys.len()], work.local.first_rows())?;
        keys.assign(&opened.key_codec.encode(&columns, states.len())?);
        opened.store(spec, work, &states, &before);
        let mut sums = opened.sum_up(spec, work, keys, &before, &mut states)?;
        let said = sums.first_rows.iter().zip(&sums.said).filter(|(_, said)| **said);
        let rows: Vec<u32> = said.map(|(row, _)| *row).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = spec.keys.iter().map(|at| batch.column(*at).clone()).collect();
        let of_keys = spec.keys.iter().copied().zip(taken(&columns, &rows)?);
        let bytes = sums.states.take_bytes_where(&sums.said);
        summed_up(of_keys, Vec::new(), bytes, &self.output).map(Some)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![&mut opened.buckets, as_snapshot(&mut opened.sets)],
            None => Vec::new(),
        }
    }
}
