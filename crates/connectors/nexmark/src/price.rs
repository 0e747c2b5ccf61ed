//! Prices: `round(100 * 10^(6 * fraction))`, equal to Java's `Math.round(Math.pow(10.0, fraction * 6.0) * 100.0)`.
//!
//! A price is a whole number, so a power need not be exact: it is enough to know on which side of a half the
//! product falls. The fast path is a table of 1024 powers and a short Taylor polynomial. Its relative error stays
//! below 2^-48, that is 4e-7 at the largest price; where the product comes closer than 1e-6 to a half (two
//! draws in a million) the power is computed in 120-bit fixed point and rounded correctly to a double, which
//! is then multiplied and rounded as Java does. Java's own power may be off by a unit in the last place: of 12,000
//! draws chosen to fall within two such units of a half, Java 17 on x86-64 rounds one to the other side,
//! which makes one price in some 10^12.

use std::f64::consts::LN_10;

/// The table is indexed by the upper bits of the fraction.
const INDEX_BITS: u32 = 10;
const FRACTION_BITS: u32 = 53;
const LOW_BITS: u32 = FRACTION_BITS - INDEX_BITS;
const HALF_LOW: f64 = (1u64 << (LOW_BITS - 1)) as f64;
/// Decades between the lowest and the highest price.
const DECADES: f64 = 6.0;
/// Added to a double below it, it leaves the nearest whole number in the low bits.
const ROUNDER: f64 = (1u64 << 52) as f64;
const ROUNDER_BITS: u64 = (1 << 52) - 1;
/// What the fast path may err by, with room to spare.
const DOUBT: f64 = 1e-6;

/// `2^-53`.
const ULP: f64 = f64::EPSILON / 2.0;

pub(crate) struct Prices {
    /// `100 * 10^(6 * f)` in the middle of each interval.
    table: Box<[f64; 1 << INDEX_BITS]>,
}

impl Prices {
    pub(crate) fn new() -> Self {
        let middle = |i: usize| ((i as u64) << LOW_BITS) + (1 << (LOW_BITS - 1));
        Prices { table: Box::new(std::array::from_fn(|i| product(middle(i)))) }
    }

    /// The price that a draw gives.
    #[inline(always)]
    pub(crate) fn of(&self, draw: u64) -> u64 {
        let fraction = draw >> (64 - FRACTION_BITS);
        // The low bits as a double, less half their range. Not by a conversion from an integer: that instruction keeps
        // the upper half of its register and so waits for the price before.
        let low =
            f64::from_bits(ROUNDER.to_bits() | (fraction & ((1 << LOW_BITS) - 1))) - (ROUNDER + HALF_LOW);
        // |x| < 0.0068: the term after the last is below 2^-52.
        let x = low * (DECADES * LN_10 * ULP);
        let x2 = x * x;
        let power = 1.0 + x + x2 * ((0.5 + x * (1.0 / 6.0)) + x2 * (1.0 / 24.0 + x * (1.0 / 120.0)));
        let product = self.table[(fraction >> LOW_BITS) as usize] * power;
        let shifted = product + ROUNDER;
        if (product - (shifted - ROUNDER)).abs() > 0.5 - DOUBT {
            return close_call(fraction);
        }
        shifted.to_bits() & ROUNDER_BITS
    }
}

#[cold]
#[inline(never)]
fn close_call(fraction: u64) -> u64 {
    product(fraction).round() as u64
}

/// `10^(6 * fraction * 2^-53) * 100`: the exponent, the power and the product each rounded to the nearest double.
fn product(fraction: u64) -> f64 {
    power_of_ten(fraction as f64 * ULP * DECADES) * 100.0
}

/// Binary digits behind the point of a fixed-point number.
const POINT: u32 = 120;
/// ln 10, rounded down.
const LN_10_FIXED: u128 = 0x24d_7637_76aa_a2b0_5ba9_5b58_ae0b_4c28;

/// The double nearest to `10^x` for an `x` in `0..6` that is a multiple of 2^-52.
fn power_of_ten(x: f64) -> f64 {
    let decade = 10u128.pow(x as u32);
    let rest = (x.fract() * ROUNDER) as u128;
    let exponent = multiply(rest << (POINT - 52), LN_10_FIXED);
    let (mut sum, mut term, mut n) = (0, 1 << POINT, 0);
    while term > 0 {
        sum += term;
        n += 1;
        term = multiply(term, exponent) / n;
    }
    // Below 10^6 * 2^100, and rounded once, by the conversion.
    ((sum >> 20) * decade) as f64 / (1u128 << (POINT - 20)) as f64
}

/// The product of two fixed-point numbers below 16, rounded down up to a unit or two.
fn multiply(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    ((a1 * b1) << (128 - POINT)) + ((a1 * b0 + a0 * b1) >> (POINT - 64)) + ((a0 * b0) >> POINT)
}

#[cfg(test)]
mod tests;
