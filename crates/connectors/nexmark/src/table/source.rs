//! A table of events that is read.

use super::projection::Projection;
use super::texts::SharedTexts;
use crate::generator::Generator;
use crate::options::NexmarkOptions;
use crate::raw::CYCLE;
use flugs_connector::{Boundedness, GeneratorSource};
use flugs_table::{Predicate, ScanRequest, TableScan, TableSource};
use flugs_types::{Result, Timestamp};

/// About so many rows in a batch.
const BATCH_ROWS: u64 = 4096;
/// A batch is made of at most so many events, however few of them give rows: it must not span too much time.
const BATCH_EVENTS_MAX: u64 = 16_384;

/// Events under some options.
pub(super) struct NexmarkTable(NexmarkOptions);

impl NexmarkTable {
    pub(super) fn new(options: NexmarkOptions) -> Self {
        NexmarkTable(options)
    }
}

impl TableSource for NexmarkTable {
    fn boundedness(&self) -> Boundedness {
        if self.0.events_num.is_some() { Boundedness::Bounded } else { Boundedness::Unbounded }
    }

    fn rows(&self) -> Option<u64> {
        self.0.events_num
    }

    fn applies(&self, predicate: &Predicate) -> bool {
        Projection::applies(predicate)
    }

    fn scan(&self, request: &ScanRequest) -> Result<TableScan> {
        let projection = Projection::new(&request.columns, request.schema.clone(), &request.predicates)?;
        let generator = Generator::new(&self.0)?;
        let texts = SharedTexts::new(&generator.pools);
        let rows_per_cycle = projection.rows_per_cycle();
        let events = (BATCH_ROWS * CYCLE / rows_per_cycle.max(1)).min(BATCH_EVENTS_MAX);
        // Where no event can pass, there is nothing to wait for.
        let events_num = if rows_per_cycle == 0 { Some(0) } else { self.0.events_num };
        let source = GeneratorSource::chunks(events_num, events as u32, move |ranges, out| {
            if let Some(batch) = projection.batch(&generator, &texts, ranges)? {
                out.push(batch, Timestamp::MIN);
            }
            Ok(())
        });
        let source = source.block(CYCLE as u32);
        Ok(Box::new(if self.0.emit_rate > 0.0 { source.rate(self.0.emit_rate) } else { source }))
    }
}
