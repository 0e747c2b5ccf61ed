//! Sums of 128-bit numbers that cannot overflow.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, i256};

/// 192 bits, two's complement, in three words, the lowest first: room for 2^64 numbers of 128 bits.
pub(super) fn add(words: &mut [u64], value: i128) {
    let (low, mid) = (value as u64, (value >> 64) as u64);
    let high = (value >> 127) as u64;
    add_words(words, [low, mid, high]);
}

pub(super) fn add_words(words: &mut [u64], value: [u64; 3]) {
    let mut carry = false;
    for (word, value) in words.iter_mut().zip(value) {
        let (sum, first) = word.overflowing_add(value);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (*word, carry) = (sum, first || second);
    }
}

/// The number as 256 bits.
pub(super) fn wide(words: &[u64]) -> i256 {
    let low = u128::from(words[0]) | u128::from(words[1]) << 64;
    i256::from_parts(low, i128::from(words[2] as i64))
}

/// The number, where a decimal of 38 digits holds it.
pub(super) fn decimal(value: i256) -> Option<i128> {
    let value = value.to_i128()?;
    (value.unsigned_abs() < 10u128.pow(u32::from(DECIMAL128_MAX_PRECISION))).then_some(value)
}

/// `sum * 10^digits / count`, rounded half away from zero.
pub(super) fn average(sum: i256, digits: u32, count: i64) -> Option<i128> {
    let scaled = sum.checked_mul(i256::from_i128(10i128.checked_pow(digits)?))?;
    let count = i256::from_i128(i128::from(count));
    let quotient = scaled.checked_div(count)?;
    let rest = scaled.checked_rem(count)?;
    let two = i256::from_i128(2);
    let up = rest.wrapping_abs().checked_mul(two)? >= count.wrapping_abs();
    let sign = if (rest < i256::ZERO) == (count < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
    decimal(if up && rest != i256::ZERO { quotient.checked_add(sign)? } else { quotient })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow() {
        let mut words = [0; 3];
        (0..4).for_each(|_| add(&mut words, i128::MAX));
        assert_eq!(decimal(wide(&words)), None);
        (0..4).for_each(|_| add(&mut words, -i128::MAX));
        assert_eq!(wide(&words), i256::ZERO);
        add(&mut words, -5);
        assert_eq!(decimal(wide(&words)), Some(-5));
    }

    #[test]
    fn averages_round_half_away_from_zero() {
        let average = |sum: i128, count| average(i256::from_i128(sum), 0, count).unwrap();
        assert_eq!((average(5, 2), average(-5, 2), average(7, 3), average(8, 3)), (3, -3, 2, 3));
    }
}
