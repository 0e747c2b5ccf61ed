//! Random numbers that depend on a seed and a row's number alone.

use std::f64::consts::TAU;
use std::ops::Range;

/// The increment of SplitMix64 (Steele, Lea, Flood 2014): the golden ratio as a fraction of 2^64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64 in David Stafford's variant 13.
#[inline(always)]
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The random numbers of one row: a SplitMix64 sequence that starts at the seed and the row's number.
///
/// Rows are independent of each other and of who makes them. Not for secrets. Whole numbers are equal on all
/// platforms for ever; floats that need a logarithm or a cosine may differ in the last digit.
#[derive(Debug, Clone)]
pub struct Draw {
    index: u64,
    state: u64,
}

impl Draw {
    /// The random numbers of row `index` under `seed`.
    #[inline(always)]
    pub fn of(seed: u64, index: u64) -> Self {
        Draw { index, state: mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(index)) }
    }

    /// The row's number: a sequence.
    #[inline(always)]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in `0..n` (0 where `n` is 0), up to a bias of `n / 2^64`.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in the range; its start where it is empty.
    #[inline(always)]
    pub fn uniform(&mut self, range: Range<i64>) -> i64 {
        let width = range.end.wrapping_sub(range.start) as u64;
        let width = if range.is_empty() { 0 } else { width };
        range.start.wrapping_add(self.below(width) as i64)
    }

    /// Uniform in `0.0..1.0`, a multiple of 2^-53.
    #[inline(always)]
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * f64::EPSILON / 2.0
    }

    /// `true` with this probability.
    #[inline(always)]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Normally distributed (Box and Muller 1958).
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        // The logarithm's argument is in (0, 1].
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        mean + deviation * radius * (TAU * self.fraction()).cos()
    }

    /// Exponentially distributed: the time between events that happen independently of each other.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.fraction()).ln()
    }

    /// A rank in `1..=n`: rank `k` comes with a probability that is proportional to `k^-exponent`.
    #[inline]
    pub fn zipf(&mut self, zipf: &Zipf) -> u64 {
        zipf.draw(self)
    }

    /// One of the choices, if there is one.
    #[inline]
    pub fn pick<'a, C>(&mut self, choices: &'a [C]) -> Option<&'a C> {
        choices.get(self.below(choices.len() as u64) as usize)
    }

    /// So many of the letters `a` to `z`.
    pub fn letters(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }

    /// So many hexadecimal digits, as Flink's `DataGen` makes its strings.
    pub fn hex(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(b"0123456789abcdef"[self.below(16) as usize])).collect()
    }
}

/// Zipf's distribution over the ranks `1..=n`, drawn by rejection-inversion (Hörmann and Derflinger 1996): no
/// table, and few more than one try for each number.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    ranks: f64,
    exponent: f64,
    /// The integral of the hat up to 1.5, less the whole mass of rank 1.
    area_start: f64,
    /// The integral of the hat up to the last rank and a half.
    area_end: f64,
    /// Points this close below their rank are accepted without a look at the area.
    squeeze: f64,
}

/// Beyond it floats end before the distribution does.
const EXPONENT_MAX: f64 = 100.0;

impl Zipf {
    /// Over `ranks` ranks (one at least) with this exponent (0: uniform; negative and NaN count as 0, and
    /// above 100 as 100, where the first rank is all that comes).
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let exponent = if exponent > 0.0 { exponent.min(EXPONENT_MAX) } else { 0.0 };
        let ranks = ranks.max(1) as f64;
        let mut zipf = Zipf { ranks, exponent, area_start: 0.0, area_end: 0.0, squeeze: 0.0 };
        zipf.area_start = zipf.area(1.5) - 1.0;
        zipf.area_end = zipf.area(ranks + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of the weight from 1 to `x`.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.exponent) * log;
        // (e^s - 1) / s * ln x, which is ln x where the exponent is 1.
        if scaled.abs() > 1e-12 { scaled.exp_m1() / scaled * log } else { log }
    }

    fn inverse_area(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        let log = if scaled.abs() > 1e-12 { scaled.ln_1p() / scaled * area } else { area };
        log.exp()
    }

    fn draw(&self, draw: &mut Draw) -> u64 {
        loop {
            let area = self.area_end + draw.fraction() * (self.area_start - self.area_end);
            let x = self.inverse_area(area);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.squeeze || area >= self.area(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 200_000;

    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        // The first numbers of the reference implementation in C for the state 1234567.
        let mut draw = Draw { index: 0, state: 1_234_567 };
        let want = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([draw.bits(), draw.bits(), draw.bits()], want);
    }

    #[test]
    fn ranges_are_kept_and_reached() {
        let mut seen = [0; 5];
        for i in 0..1000 {
            seen[(Draw::of(1, i).uniform(-2..3) + 2) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (150..250).contains(&n)), "{seen:?}");
        let mut draw = Draw::of(1, 0);
        #[allow(clippy::reversed_empty_ranges, reason = "what an empty range gives is the point")]
        let empty = draw.uniform(7..3);
        assert_eq!((draw.below(0), draw.below(1), draw.uniform(7..7), empty), (0, 0, 7, 7));
        let whole = draw.uniform(i64::MIN..i64::MAX);
        assert_ne!(whole, draw.uniform(i64::MIN..i64::MAX));
        assert_eq!(draw.pick::<u8>(&[]), None);
        assert_eq!(draw.letters(9).len(), 9);
        assert!(draw.hex(64).bytes().all(|b| b.is_ascii_hexdigit()));
    }

    #[test]
    fn rows_differ_by_seed_and_by_index() {
        let first = |seed, index| Draw::of(seed, index).bits();
        assert_eq!(first(1, 5), first(1, 5));
        assert_ne!(first(1, 5), first(2, 5));
        assert_ne!(first(1, 5), first(1, 6));
        // Neighbouring seeds must not give each other's rows, shifted.
        assert!((0..100).all(|i| first(1, i + 1) != first(2, i)));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let (mut sum, mut squares, mut gaps) = (0.0, 0.0, 0.0);
        for i in 0..N {
            let mut draw = Draw::of(3, i);
            let x = draw.normal(10.0, 2.0);
            sum += x;
            squares += (x - 10.0) * (x - 10.0);
            gaps += draw.exponential(5.0);
        }
        let n = N as f64;
        assert!((sum / n - 10.0).abs() < 0.02, "mean {}", sum / n);
        assert!((squares / n - 4.0).abs() < 0.06, "variance {}", squares / n);
        assert!((gaps / n - 5.0).abs() < 0.06, "mean gap {}", gaps / n);
    }

    #[test]
    fn zipf_follows_the_sum_of_its_weights() {
        for exponent in [0.0, 0.5, 1.0, 1.5, 3.0] {
            let ranks = 50;
            let zipf = Zipf::new(ranks, exponent);
            let mut seen = vec![0u64; ranks as usize];
            for i in 0..N {
                seen[Draw::of(9, i).zipf(&zipf) as usize - 1] += 1;
            }
            let total: f64 = (1..=ranks).map(|k| (k as f64).powf(-exponent)).sum();
            for rank in [1, 2, 3, 10, 50] {
                let want = (rank as f64).powf(-exponent) / total * N as f64;
                let got = seen[rank - 1] as f64;
                // Five standard deviations of a count.
                assert!((got - want).abs() < 5.0 * want.sqrt() + 1.0, "{exponent} {rank}: {got} for {want}");
            }
        }
        for (ranks, exponent) in
            [(0, 1.0), (1, 0.0), (u64::MAX, 0.0), (u64::MAX, 1.0), (9, f64::INFINITY), (9, f64::NAN)]
        {
            let zipf = Zipf::new(ranks, exponent);
            assert!((0..1000).all(|i| (1..=ranks.max(1)).contains(&Draw::of(1, i).zipf(&zipf))));
        }
    }
}
