//! Event times and watermarks that are given in the middle of a stream.

use crate::collector::Traffic;
use flugs_batch::{Record, Records};
use flugs_task::{OpenContext, Operator, Output, Progress, WatermarkGenerator, WatermarkStrategy};
use flugs_types::{Result, Timestamp};

/// Gives rows new event times and the stream new watermarks, by a strategy as sources have.
///
/// The watermarks of the input are not handed on, but for the one at the end (as in Flink). A strategy without a generator
/// sets times only, and its output has no other watermark. How far event time has come is not kept over a restore: the first
/// rows say it anew. Watermark alignment is for sources and has no effect here.
pub struct AssignTimestamps<T> {
    strategy: WatermarkStrategy<T>,
    generator: Option<Box<dyn WatermarkGenerator<T>>>,
    watermark: Timestamp,
    traffic: Traffic,
}

impl<T: Record> AssignTimestamps<T> {
    /// An operator that follows this strategy.
    pub fn new(strategy: WatermarkStrategy<T>) -> Self {
        AssignTimestamps {
            generator: strategy.new_generator(),
            strategy,
            watermark: Timestamp::MIN,
            traffic: Traffic::default(),
        }
    }

    fn raise(&mut self, watermark: Timestamp, out: &mut Output<Records<T>>) -> Result<()> {
        if watermark > self.watermark {
            self.watermark = watermark;
            let _ = out.watermark(watermark)?;
        }
        Ok(())
    }
}

impl<T: Record> Operator for AssignTimestamps<T> {
    type In = Records<T>;
    type Out = Records<T>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        Ok(())
    }

    fn process(&mut self, mut batch: Records<T>, out: &mut Output<Records<T>>) -> Result<Progress> {
        self.traffic.took(batch.len());
        self.traffic.gave(batch.len());
        self.strategy.assign(&mut batch);
        let observed = self.generator.as_mut().map(|generator| generator.observe(&batch));
        let _ = out.push(batch)?;
        if let Some(watermark) = observed {
            self.raise(watermark, out)?;
        }
        Ok(Progress::Done)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Records<T>>) -> Result<Progress> {
        if watermark == Timestamp::MAX {
            self.raise(watermark, out)?;
        }
        Ok(Progress::Done)
    }

    fn forwards_watermarks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flugs_testkit::{Case, OperatorHarness};
    use std::time::Duration;

    fn strategy() -> WatermarkStrategy<i64> {
        WatermarkStrategy::bounded_out_of_orderness(Duration::from_micros(10))
            .with_timestamps(|x: &i64| Timestamp(*x))
    }

    #[test]
    fn times_and_watermarks_are_the_strategys() {
        let mut harness = OperatorHarness::new(AssignTimestamps::new(strategy())).unwrap();
        harness.push([(100, Timestamp(1)), (90, Timestamp(2))]).unwrap();
        harness.watermark(Timestamp(1_000_000)).unwrap();
        harness.push([(95, Timestamp::MIN)]).unwrap();
        harness.push([(120, Timestamp::MIN)]).unwrap();
        harness.watermark(Timestamp::MAX).unwrap();
        harness.end().unwrap();
        let out = harness.output();
        assert_eq!(out.times, [100, 90, 95, 120].map(Timestamp));
        // The highest time seen, less the bound, less one microsecond.
        assert_eq!(harness.watermarks(), [Timestamp(89), Timestamp(109), Timestamp::MAX]);
    }

    #[test]
    fn rows_pass_unchanged_in_every_way() {
        let out = Case::new(|| AssignTimestamps::new(strategy()))
            .batch(Records::untimed(vec![5, 3]))
            .batch(Records::untimed(vec![9]))
            .end()
            .run();
        assert_eq!(out[0], ["5 5", "3 3", "9 9"]);
    }
}
