//! Rows inside a committable: what a built-in sink makes visible once their checkpoint is complete.

use super::append;
use crate::{Committable, Prepared, SinkWriter, WriterContext};
use flugs_batch::data::{DecodeError, Reader};
use flugs_batch::{Data, Record, Records};
use flugs_types::{Attempt, CheckpointId, Error, Generation, OperatorUid, Result, SubtaskId, Timestamp};
use std::fmt;

const VERSION: u8 = 1;

/// Names the rows that one writer of a sink wrote between two checkpoints, for ever: a batch that is
/// committed again has the same id and the same rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId {
    /// Uid of the sink.
    pub uid: OperatorUid,
    /// The run of the job that wrote the rows.
    pub generation: Generation,
    /// The try within the run.
    pub attempt: Attempt,
    /// The checkpoint that covers them.
    pub checkpoint: CheckpointId,
    /// Index of the writer.
    pub writer: u32,
}

impl BatchId {
    /// The rows of the writer in `context` up to `checkpoint`.
    pub(super) fn new(context: &WriterContext, checkpoint: CheckpointId) -> Self {
        let WriterContext { uid, generation, attempt, subtask: SubtaskId { index, .. }, .. } = context;
        BatchId { uid: uid.clone(), generation: *generation, attempt: *attempt, checkpoint, writer: *index }
    }
}

/// Fit for a file name or a key if the uid is.
impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchId { uid, generation, attempt, checkpoint, writer } = self;
        write!(f, "{uid}-{generation}-{attempt}-{checkpoint}-{writer}")
    }
}

/// What was sealed.
pub(super) type Opened<T> = (BatchId, Records<T>);

/// How rows are written into committables. Kept as plain functions, so that the sinks themselves need no
/// encoding of rows where they do not commit.
pub(super) struct Seal<T> {
    pub(super) encode: fn(&BatchId, &Records<T>) -> Committable,
    pub(super) decode: fn(&Committable) -> Result<Opened<T>>,
}

impl<T> Clone for Seal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seal<T> {}

impl<T: Data> Seal<T> {
    pub(super) const NEW: Self = Seal { encode, decode };
}

/// A writer whose rows become visible with their checkpoint: what was written between two barriers is one batch, and
/// `commit` makes it visible, the same batch perhaps more than once.
pub(super) struct SealedWriter<T, F> {
    seal: Seal<T>,
    /// Written since the last barrier.
    pending: Records<T>,
    context: WriterContext,
    commit: F,
}

impl<T, F> SealedWriter<T, F> {
    pub(super) fn new(seal: Seal<T>, context: WriterContext, commit: F) -> Self {
        SealedWriter { seal, pending: Records::new(), context, commit }
    }
}

impl<T, F> SinkWriter<T> for SealedWriter<T, F>
where
    T: Record,
    F: FnMut(BatchId, Records<T>) -> Result<()> + Send,
{
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        append(&mut self.pending, rows);
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, _end: bool) -> Result<Prepared> {
        let rows = std::mem::take(&mut self.pending);
        if rows.is_empty() {
            return Ok(Prepared::default());
        }
        let sealed = (self.seal.encode)(&BatchId::new(&self.context, checkpoint), &rows);
        Ok(Prepared { committables: vec![sealed], state: Vec::new() })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        for committable in &committables {
            let (id, rows) = (self.seal.decode)(committable)?;
            (self.commit)(id, rows)?;
        }
        Ok(())
    }
}

fn encode<T: Data>(id: &BatchId, rows: &Records<T>) -> Committable {
    let mut out = vec![VERSION];
    id.uid.as_str().to_owned().encode(&mut out);
    id.generation.0.encode(&mut out);
    id.attempt.0.encode(&mut out);
    id.checkpoint.0.encode(&mut out);
    id.writer.encode(&mut out);
    (rows.len() as u64).encode(&mut out);
    for (value, time) in rows.iter() {
        time.encode(&mut out);
        value.encode(&mut out);
    }
    Committable(out)
}

fn decode<T: Data>(committable: &Committable) -> Result<Opened<T>> {
    parse(&committable.0).map_err(|e| {
        Error::state(format!("a committable of the sink is not readable: {e}"))
            .mend("restore with the type of rows that the sink had when the checkpoint was taken")
    })
}

fn parse<T: Data>(bytes: &[u8]) -> Result<Opened<T>, DecodeError> {
    let mut input = Reader::new(bytes);
    let [version] = input.array()?;
    if version != VERSION {
        return Err(DecodeError::new(format!("version {version}, only {VERSION} is known")));
    }
    let id = BatchId {
        uid: OperatorUid::new(String::decode(&mut input)?),
        generation: Generation(Data::decode(&mut input)?),
        attempt: Attempt(Data::decode(&mut input)?),
        checkpoint: CheckpointId(Data::decode(&mut input)?),
        writer: Data::decode(&mut input)?,
    };
    let mut rows = Records::new();
    for _ in 0..u64::decode(&mut input)? {
        let time = Timestamp::decode(&mut input)?;
        rows.push(T::decode(&mut input)?, time);
    }
    input.finish()?;
    Ok((id, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_their_id_survive_and_damage_is_an_error() {
        let id = BatchId {
            uid: OperatorUid::new("out"),
            generation: Generation(3),
            attempt: Attempt(2),
            checkpoint: CheckpointId(17),
            writer: 1,
        };
        let rows: Records<String> =
            [("a".to_owned(), Timestamp(5)), (String::new(), Timestamp::MIN)].into_iter().collect();
        let sealed = encode(&id, &rows);
        assert_eq!(decode(&sealed).unwrap(), (id.clone(), rows));
        assert_eq!(id.to_string(), "out-3-2-17-1");
        for cut in 0..sealed.0.len() {
            assert!(decode::<String>(&Committable(sealed.0[..cut].to_vec())).is_err());
        }
        assert!(decode::<u64>(&sealed).is_err());
    }
}
