//! Words of a text in memory, counted: 64 KiB pieces are cut into words, keyed, and counted until the stream ends, once
//! with the engine's windows and once with an operator that only counts: the difference is what the window layer costs.

use super::{environment, hand_words};
use crate::figures::{Line, Run, Table, best_of, timed};
use crate::options::Options;
use crate::rows::{Digest, SharedDigest, pieces, text};
use flugs::prelude::*;
use flugs::state::{Drained, KeyedTable, SnapshotTable};
use flugs::task::{OpenContext, Operator, Output, Progress};
use flugs::{Error, Result};
use std::sync::Arc;

type Counted = (CompactString, u64);

#[derive(Clone, Copy)]
enum Windows {
    Engine,
    Bare,
}

/// Calls `f` for each word. The ends of words are found 64 bytes at a time, which the compiler turns into a few vector
/// instructions: a branch for each byte would be mispredicted at the end of each word.
fn words<'t>(text: &'t str, mut f: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut until = |end: usize| {
        if end > start {
            f(&text[start..end]);
        }
        start = end + 1;
    };
    let mut chunks = bytes.chunks_exact(64);
    for (i, chunk) in chunks.by_ref().enumerate() {
        let mut ends =
            chunk.iter().enumerate().fold(0u64, |ends, (i, byte)| ends | (u64::from(*byte <= b' ') << i));
        while ends != 0 {
            until(i * 64 + ends.trailing_zeros() as usize);
            ends &= ends - 1;
        }
    }
    let rest = bytes.len() - chunks.remainder().len();
    for (i, byte) in chunks.remainder().iter().enumerate() {
        if *byte <= b' ' {
            until(rest + i);
        }
    }
    until(bytes.len());
}

fn program(pieces: &Arc<[Arc<str>]>, workers: u64, windows: Windows) -> Result<(Run, Digest)> {
    let env = environment("word-count", workers);
    let of_source = pieces.clone();
    let source = GeneratorSource::new(Some(pieces.len() as u64), move |i| of_source[i as usize].clone());
    // A piece is a batch: rows are counted by their own size, which here is that of a pointer.
    let words = env
        .from_source(source.block(1).batch_rows(1), WatermarkStrategy::none(), "text")
        .stream()
        .flat_map(|piece: Arc<str>, out: &mut Collector<CompactString>| {
            words(&piece, |word| out.collect(CompactString::from(word)));
        })
        .key_by_ref(|word: &CompactString| word);
    let counts = match windows {
        Windows::Engine => words.transform("count", |word| {
            WindowBuilder::new(word, GlobalWindows::end_of_stream())
                .aggregate(Count::new(), |word: &CompactString, _, n| (word.clone(), n))
        }),
        Windows::Bare => words.transform("count", |_| WordCounts::default()),
    };
    let digest = SharedDigest::default();
    let seen = digest.clone();
    let sink = CallbackSink::new(move |_, rows: &Records<Counted>| {
        let mut of_batch = Digest::default();
        rows.values.iter().for_each(|(word, n)| of_batch.add(hand_words::result(word, *n)));
        seen.add(of_batch);
        Ok(())
    });
    counts.sink_to(sink, "check");
    let (run, _) = timed(|| env.execute())?;
    Ok((run, digest.get()))
}

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let words = options.number("events", 20_000_000);
    let text = text(words);
    let expected = hand_words::expected(&text);
    let pieces: Arc<[Arc<str>]> = pieces(&text).into();
    drop(text);
    for workers in options.workers(&[1, 2]) {
        for (windows, name) in [(Windows::Engine, "engine"), (Windows::Bare, "bare")] {
            let best = best_of(options.runs(), || program(&pieces, workers, windows))?;
            let same = if best.made == expected { "yes" } else { "NO" };
            let line = Line::of_best("word-count", words, &best)
                .parameter("workers", workers)
                .parameter("windows", name);
            table.print(line.detail("results", best.made).detail("same_as_hand", same));
        }
    }
    Ok(())
}

/// How many counts are handed on at once.
const OUT_ROWS: usize = 2048;

/// Counts words and gives the counts out when there are no more.
#[derive(Default)]
struct WordCounts {
    counts: Option<KeyedTable<CompactString, u64>>,
    /// What is left to be given out.
    rest: Option<Drained<CompactString, u64>>,
}

impl WordCounts {
    fn counts(&mut self) -> Result<&mut KeyedTable<CompactString, u64>> {
        self.counts.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }
}

impl Operator for WordCounts {
    type In = Records<CompactString>;
    type Out = Records<Counted>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.counts = Some(context.state.keyed("counts")?);
        Ok(())
    }

    fn process(
        &mut self,
        batch: Records<CompactString>,
        _: &mut Output<Records<Counted>>,
    ) -> Result<Progress> {
        let words = &batch.values;
        self.counts()?.for_each_row_ref(words.len(), |i| &words[i], || 0, |_, n| *n += 1);
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<Records<Counted>>) -> Result<Progress> {
        self.rest = Some(self.counts()?.drain());
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Records<Counted>>) -> Result<Progress> {
        while let Some(rest) = &mut self.rest {
            let values: Vec<Counted> = rest.take(OUT_ROWS).collect();
            if values.len() < OUT_ROWS {
                self.rest = None;
            }
            let _ = out.push(Records::untimed(values))?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.counts.iter_mut().map(|table| table as &mut dyn SnapshotTable).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_loop_counts() {
        let text = text(40_000);
        let pieces: Arc<[Arc<str>]> = pieces(&text).into();
        for windows in [Windows::Engine, Windows::Bare] {
            assert_eq!(program(&pieces, 2, windows).unwrap().1, hand_words::expected(&text));
        }
    }
}
