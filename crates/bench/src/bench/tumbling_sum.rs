//! A keyed tumbling sum as a DataStream program, once with the engine's windows and once with a window operator
//! that knows nothing but this sum: the difference is what the window layer costs.

use super::{environment, hand_sum};
use crate::figures::{Line, Run, Table, best_of, timed};
use crate::options::Options;
use crate::rows::{Digest, SharedDigest, WINDOW_MS, sum_row, time_ms, window_of, window_of_result};
use flugs::prelude::*;
use flugs::state::{Drained, PaneTable, SnapshotTable};
use flugs::task::{OpenContext, Operator, Output, Progress};
use flugs::{Error, Result};

type Row = (u64, u64);

fn rows(events: u64, keys: u64) -> GeneratorSource<Row> {
    GeneratorSource::batches(Some(events), move |range, out: &mut Records<Row>| {
        out.values.extend(range.clone().map(|i| sum_row(i, keys)));
        out.times.extend(range.map(|i| Timestamp::from_millis(time_ms(i))));
    })
}

#[derive(Clone, Copy)]
enum Windows {
    Engine,
    Bare,
}

fn program(events: u64, keys: u64, workers: u64, windows: Windows) -> Result<(Run, Digest)> {
    let env = environment("tumbling-sum", workers);
    let keyed = env
        .from_source(rows(events, keys), WatermarkStrategy::monotonous(), "rows")
        .stream()
        .key_by(|row: &Row| row.0);
    let sums = match windows {
        Windows::Engine => keyed.transform("sum", |key| {
            WindowBuilder::new(key, TumblingEventTimeWindows::of(Duration::from_millis(WINDOW_MS as u64)))
                .aggregate(Sum::of(|row: &Row| row.1), |key: &u64, _, sum| (*key, sum))
        }),
        Windows::Bare => keyed.transform("sum", |_| PaneSum::default()),
    };
    let digest = SharedDigest::default();
    let seen = digest.clone();
    let sink = CallbackSink::new(move |_, rows: &Records<Row>| {
        let mut of_batch = Digest::default();
        for (&(key, sum), time) in rows.iter() {
            of_batch.add([window_of_result(time), key, sum]);
        }
        seen.add(of_batch);
        Ok(())
    });
    sums.sink_to(sink, "check");
    let (run, _) = timed(|| env.execute())?;
    Ok((run, digest.get()))
}

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let events = options.number("events", 20_000_000);
    for keys in options.list("keys", &[1_000, 1_000_000]) {
        let expected = hand_sum::expected(events, keys);
        for workers in options.workers(&[1, 2]) {
            for (windows, name) in [(Windows::Engine, "engine"), (Windows::Bare, "bare")] {
                let best = best_of(options.runs(), || program(events, keys, workers, windows))?;
                let same = if best.made == expected { "yes" } else { "NO" };
                let line = Line::of_best("tumbling-sum", events, &best)
                    .parameter("keys", keys)
                    .parameter("workers", workers)
                    .parameter("windows", name);
                table.print(line.detail("results", best.made).detail("same_as_hand", same));
            }
        }
    }
    Ok(())
}

/// How many sums are handed on at once.
const OUT_ROWS: usize = 4096;

fn start_of(window: i64) -> Timestamp {
    Timestamp::from_millis(time_ms(0) + window * WINDOW_MS)
}

/// The sum and nothing else: a table a window, closed as a whole. The watermark's window is not kept in its state, so it
/// is no operator for a job that must restore.
#[derive(Default)]
struct PaneSum {
    panes: Option<PaneTable<u64, i64, u64>>,
    watermark_ms: i64,
    /// The window that is being given out.
    closing: Option<(i64, Drained<u64, u64>)>,
}

impl PaneSum {
    fn panes(&mut self) -> Result<&mut PaneTable<u64, i64, u64>> {
        self.panes.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }

    /// Gives out the windows that the watermark has passed, until the output asks to stop.
    fn close(&mut self, out: &mut Output<Records<Row>>) -> Result<Progress> {
        loop {
            let watermark_ms = self.watermark_ms;
            if self.closing.is_none() {
                let panes = self.panes()?;
                let due = panes.first().is_some_and(|(window, _)| *window < window_of(watermark_ms + 1));
                self.closing =
                    if due { panes.take_first().map(|(w, mut pane)| (w, pane.drain())) } else { None };
            }
            let Some((window, sums)) = &mut self.closing else { return Ok(Progress::Done) };
            let values: Vec<Row> = sums.by_ref().take(OUT_ROWS).collect();
            let times = vec![Timestamp(start_of(*window + 1).0 - 1); values.len()];
            if values.len() < OUT_ROWS {
                self.closing = None;
            }
            let _ = out.push(Records { values, times })?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
    }
}

impl Operator for PaneSum {
    type In = Records<Row>;
    type Out = Records<Row>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.panes = Some(context.state.panes("sums")?);
        self.watermark_ms = i64::MIN;
        Ok(())
    }

    fn process(&mut self, batch: Records<Row>, _: &mut Output<Records<Row>>) -> Result<Progress> {
        let panes = self.panes()?;
        let mut rest = 0..batch.len();
        while let Some(first) = batch.times.get(rest.start) {
            let window = window_of(first.0.div_euclid(1_000));
            let (start, end) = (start_of(window), start_of(window + 1));
            let within = |time: &Timestamp| start <= *time && *time < end;
            let run = batch.times[rest.clone()].iter().position(|time| !within(time));
            let rows = &batch.values[rest.start..run.map_or(rest.end, |run| rest.start + run)];
            panes.pane_mut(window).for_each_row(rows.len(), |i| rows[i].0, || 0, |i, sum| *sum += rows[i].1);
            rest.start += rows.len();
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<Records<Row>>) -> Result<Progress> {
        self.close(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Records<Row>>) -> Result<Progress> {
        // A watermark of a millisecond less a microsecond is that of the millisecond before.
        self.watermark_ms = (watermark.0.saturating_add(1)).div_euclid(1_000) - 1;
        self.close(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.panes.iter_mut().map(|panes| panes as &mut dyn SnapshotTable).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_window_operators_give_what_the_loop_does() {
        let (events, keys) = (5_300_000, 3_000);
        let expected = hand_sum::expected(events, keys);
        for windows in [Windows::Engine, Windows::Bare] {
            assert_eq!(program(events, keys, 2, windows).unwrap().1, expected);
        }
    }
}
