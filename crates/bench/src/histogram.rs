//! Durations by their frequency: buckets a 64th of their value wide, so that percentiles are at most 1.6 % too high.

/// Buckets between a power of two and the next.
const STEPS: usize = 64;
const STEPS_LOG: u32 = STEPS.trailing_zeros();

/// A histogram over 64-bit numbers. The largest is kept exactly.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        // Below 2^6 each number has its bucket; each of the 58 powers of two above has 64.
        let buckets = STEPS * (64 - STEPS_LOG as usize + 1);
        Histogram { counts: vec![0; buckets], total: 0, max: 0 }
    }
}

impl Histogram {
    /// How far a number's leading digits are shifted to be its place among the 64.
    fn shift(value: u64) -> u32 {
        (u64::BITS - value.leading_zeros()).saturating_sub(STEPS_LOG + 1)
    }

    fn bucket(value: u64) -> usize {
        let shift = Self::shift(value);
        shift as usize * STEPS + (value >> shift) as usize
    }

    /// The largest number of a bucket.
    fn top(bucket: usize) -> u64 {
        let shift = (bucket / STEPS).saturating_sub(1);
        let leading = (bucket - shift * STEPS) as u64;
        (leading << shift) | ((1 << shift) - 1)
    }

    /// Counts a number.
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.counts[Self::bucket(value)] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// Counts all that another has counted.
    pub(crate) fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The largest.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The number that a fraction of all stay at or below; 0 where nothing was counted.
    pub(crate) fn quantile(&self, fraction: f64) -> u64 {
        let wanted = ((self.total as f64 * fraction).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Self::top(bucket).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::mix;

    #[test]
    fn small_numbers_and_the_largest_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|n| histogram.record(n));
        assert_eq!(
            (histogram.quantile(0.5), histogram.quantile(0.99), histogram.quantile(1.0)),
            (50, 99, 100)
        );
        histogram.record(u64::MAX);
        assert_eq!((histogram.max(), histogram.quantile(1.0), histogram.total()), (u64::MAX, u64::MAX, 101));
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_numbers() {
        let numbers: Vec<u64> = (0..10_000).map(|i| mix(i) >> (mix(i + 7) % 60)).collect();
        let (mut one, mut two) = (Histogram::default(), Histogram::default());
        numbers[..3_000].iter().for_each(|n| one.record(*n));
        numbers[3_000..].iter().for_each(|n| two.record(*n));
        one.add(&two);
        let mut sorted = numbers;
        sorted.sort_unstable();
        for fraction in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let exact = sorted[((10_000.0 * fraction) as usize).max(1) - 1];
            let found = one.quantile(fraction);
            assert!(found >= exact && found - exact <= exact / 64, "{fraction}: {found} for {exact}");
        }
    }
}
