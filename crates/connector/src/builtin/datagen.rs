//! Random rows.

use super::draw::Draw;
use super::generator::GeneratorSource;
use flugs_batch::{Record, Records};
use flugs_types::Timestamp;
use std::ops::Range;

/// A source of random rows, made by a closure over the random numbers of each row.
///
/// ```
/// # use flugs_connector::{DataGen, GeneratorSource, Zipf};
/// #[derive(Clone)]
/// struct Order { id: u64, customer: u64, cents: i64, note: String }
///
/// let customers = Zipf::new(1_000_000, 1.1);
/// let orders: GeneratorSource<Order> = DataGen::new().seed(7).count(1000).rows(move |draw| Order {
///     id: draw.index(),
///     customer: draw.zipf(&customers),
///     cents: draw.normal(2000.0, 500.0) as i64,
///     note: draw.letters(12),
/// });
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct DataGen {
    seed: u64,
    count: Option<u64>,
    rate: Option<f64>,
}

impl DataGen {
    /// Rows for ever, at full speed, with seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another seed, other rows.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Ends after so many rows.
    #[must_use]
    pub fn count(mut self, rows: u64) -> Self {
        self.count = Some(rows);
        self
    }

    /// See [`GeneratorSource::rate`].
    #[must_use]
    pub fn rate(mut self, rows_per_second: f64) -> Self {
        self.rate = Some(rows_per_second);
        self
    }

    /// The source of rows without event times.
    pub fn rows<T: Record>(self, row: impl Fn(&mut Draw) -> T + Send + Sync + 'static) -> GeneratorSource<T> {
        let seed = self.seed;
        self.source(move |range, out| {
            out.times.resize(out.times.len() + (range.end - range.start) as usize, Timestamp::MIN);
            out.values.extend(range.map(|index| row(&mut Draw::of(seed, index))));
        })
    }

    /// The source of rows with their event times.
    pub fn timed_rows<T: Record>(
        self,
        row: impl Fn(&mut Draw) -> (T, Timestamp) + Send + Sync + 'static,
    ) -> GeneratorSource<T> {
        let seed = self.seed;
        self.source(move |range, out| {
            for index in range {
                let (value, time) = row(&mut Draw::of(seed, index));
                out.push(value, time);
            }
        })
    }

    fn source<T: Record>(
        self,
        fill: impl Fn(Range<u64>, &mut Records<T>) + Send + Sync + 'static,
    ) -> GeneratorSource<T> {
        let source = GeneratorSource::batches(self.count, fill);
        match self.rate {
            Some(rate) => source.rate(rate),
            None => source,
        }
    }
}
