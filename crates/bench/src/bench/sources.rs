//! Sources alone: rows into a sink that drops them, in the source's own task.

use super::environment;
use super::folder::Folder;
use crate::figures::{Line, Table, best_of, timed};
use crate::options::Options;
use flugs::Result;
use flugs::connectors::nexmark::{NexmarkOptions, NexmarkSource};
use flugs::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Nexmark events: whole ones with their strings, and bids of which two numbers are read.
pub(crate) fn nexmark(options: &Options, table: &mut Table) -> Result<()> {
    let events = options.number("events", 20_000_000);
    let of = NexmarkOptions::new().events_num(events);
    for workers in options.workers(&[1, 2]) {
        let whole = best_of(options.runs(), || drained(workers, NexmarkSource::events(&of)?))?;
        let bids = best_of(options.runs(), || {
            drained(workers, NexmarkSource::bids(&of, |bid| (bid.auction(), bid.price()))?)
        })?;
        for (name, best) in [("whole_events", whole), ("bids_auction_price", bids)] {
            let line = Line::of_best("nexmark-source", events, &best);
            table.print(line.parameter("rows", name).parameter("workers", workers));
        }
    }
    Ok(())
}

/// Runs a bounded source to its end.
fn drained<S: Source>(workers: u64, source: S) -> Result<(crate::figures::Run, ())>
where
    S::Item: Data,
{
    let env = environment("source", workers);
    env.from_source(source, WatermarkStrategy::monotonous(), "source")
        .stream()
        .sink_to(BlackholeSink::new(), "nothing");
    timed(|| env.execute().map(|_| ()))
}

#[derive(Debug, Clone, Data, serde::Deserialize)]
struct JsonBid {
    auction: u64,
    bidder: u64,
    price: u64,
    channel: String,
    url: String,
    date_time: String,
    extra: String,
}

/// Bids as JSON lines of some 250 bytes, all seven fields read. The file is in the page cache.
pub(crate) fn json(options: &Options, table: &mut Table) -> Result<()> {
    let events = options.number("events", 1_000_000);
    let folder = Folder::new(options, "json-source")?;
    let path = folder.path().join("bids.jsonl");
    let bytes = write_bids(&path, events).map_err(|e| {
        flugs::Error::environment("the input file cannot be written")
            .at(path.display().to_string())
            .mend("name a folder with room with --store")
            .caused_by(e)
    })?;
    for workers in options.workers(&[1, 2]) {
        let best = best_of(options.runs(), || {
            drained(workers, FileSource::new(&path, Json::<JsonBid>::new()).split_bytes(16 << 20))
        })?;
        let line = Line::of_best("json-source", events, &best)
            .parameter("workers", workers)
            .parameter("bytes_a_row", bytes / events)
            .detail("GB/s", format!("{:.3}", bytes as f64 / best.run.seconds / 1e9));
        table.print(line);
    }
    Ok(())
}

fn write_bids(path: &Path, events: u64) -> io::Result<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut bytes = 0;
    for i in 0..events {
        let mut draw = flugs::connectors::Draw::of(1, i);
        let row = format!(
            "{{\"auction\":{},\"bidder\":{},\"price\":{},\"channel\":\"channel-{}\",\
             \"url\":\"https://www.nexmark.com/{}/{}/{}/item.htm?query=1\",\
             \"date_time\":\"2015-07-15 00:{:02}:{:02}.{:03}\",\"extra\":\"{}\"}}\n",
            draw.below(1_000_000) + 1_000,
            draw.below(1_000_000) + 1_000,
            draw.below(100_000_000) + 100,
            draw.below(10_000),
            draw.letters(5),
            draw.letters(5),
            draw.letters(5),
            i / 60_000 % 60,
            i / 1_000 % 60,
            i % 1_000,
            draw.letters(50),
        );
        bytes += row.len() as u64;
        out.write_all(row.as_bytes())?;
    }
    out.flush()?;
    Ok(bytes)
}
