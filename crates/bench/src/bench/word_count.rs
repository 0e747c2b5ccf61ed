//! Words of a text in memory, counted: 64 KiB pieces are cut into words, keyed, and counted until the stream ends.

use super::{environment, hand_words};
use crate::figures::{Line, Run, Table, best_of, timed};
use crate::options::Options;
use crate::rows::{Digest, SharedDigest, pieces, text};
use flugs::Result;
use flugs::prelude::*;
use std::sync::Arc;

type Counted = (CompactString, u64);

fn program(pieces: &Arc<[Arc<str>]>, workers: u64) -> Result<(Run, Digest)> {
    let env = environment("word-count", workers);
    let of_source = pieces.clone();
    let source = GeneratorSource::new(Some(pieces.len() as u64), move |i| of_source[i as usize].clone());
    // A piece is a batch: rows are counted by their own size, which here is that of a pointer.
    let counts = env
        .from_source(source.block(1).batch_rows(1), WatermarkStrategy::none(), "text")
        .stream()
        .flat_map(|piece: Arc<str>, out: &mut Collector<CompactString>| {
            piece.split_ascii_whitespace().for_each(|word| out.collect(CompactString::from(word)));
        })
        .key_by(|word: &CompactString| word.clone())
        .transform("count", |word| {
            WindowBuilder::new(word, GlobalWindows::end_of_stream())
                .aggregate(Count::new(), |word: &CompactString, _, n| (word.clone(), n))
        });
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
        let best = best_of(options.runs(), || program(&pieces, workers))?;
        let same = if best.made == expected { "yes" } else { "NO" };
        let line = Line::of_best("word-count", words, &best).parameter("workers", workers);
        table.print(line.detail("results", best.made).detail("same_as_hand", same));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_loop_counts() {
        let text = text(100_000);
        let pieces: Arc<[Arc<str>]> = pieces(&text).into();
        assert_eq!(program(&pieces, 2).unwrap().1, hand_words::expected(&text));
    }
}
