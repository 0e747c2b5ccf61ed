//! Values of fixed width: bytes that compare as the values do.

use arrow::datatypes::{IntervalDayTime, IntervalMonthDayNano};

/// A value that takes `W` bytes.
pub(super) trait Fixed<const W: usize>: Copy + Default {
    fn to_ordered(self) -> [u8; W];
    fn from_ordered(bytes: [u8; W]) -> Self;
}

macro_rules! signed {
    ($($t:ty, $width:literal;)*) => {$(
        impl Fixed<$width> for $t {
            #[inline(always)]
            fn to_ordered(self) -> [u8; $width] {
                (self ^ <$t>::MIN).to_be_bytes()
            }

            #[inline(always)]
            fn from_ordered(bytes: [u8; $width]) -> Self {
                <$t>::from_be_bytes(bytes) ^ <$t>::MIN
            }
        }
    )*};
}

macro_rules! unsigned {
    ($($t:ty, $width:literal;)*) => {$(
        impl Fixed<$width> for $t {
            #[inline(always)]
            fn to_ordered(self) -> [u8; $width] {
                self.to_be_bytes()
            }

            #[inline(always)]
            fn from_ordered(bytes: [u8; $width]) -> Self {
                <$t>::from_be_bytes(bytes)
            }
        }
    )*};
}

macro_rules! float {
    ($($t:ty, $bits:ty, $width:literal;)*) => {$(
        impl Fixed<$width> for $t {
            #[inline(always)]
            fn to_ordered(self) -> [u8; $width] {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                // Adding 0.0 makes -0.0 the positive one.
                let bits = if self.is_nan() { <$t>::NAN.to_bits() & !SIGN } else { (self + 0.0).to_bits() };
                (if bits & SIGN != 0 { !bits } else { bits | SIGN }).to_be_bytes()
            }

            #[inline(always)]
            fn from_ordered(bytes: [u8; $width]) -> Self {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = <$bits>::from_be_bytes(bytes);
                <$t>::from_bits(if bits & SIGN != 0 { bits & !SIGN } else { !bits })
            }
        }
    )*};
}

signed! { i8, 1; i16, 2; i32, 4; i64, 8; i128, 16; }
unsigned! { u8, 1; u16, 2; u32, 4; u64, 8; }
float! { f32, u32, 4; f64, u64, 8; }

const DAY_NANOS: i128 = 86_400_000_000_000;

/// A day has 24 hours, as in Flink's intervals: one day equals 24 hours.
impl Fixed<20> for IntervalMonthDayNano {
    fn to_ordered(self) -> [u8; 20] {
        let nanos = i128::from(self.days) * DAY_NANOS + i128::from(self.nanoseconds);
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&self.months.to_ordered());
        bytes[4..].copy_from_slice(&nanos.to_ordered());
        bytes
    }

    /// Days and nanoseconds of one sign. What is too long for the days, which only damaged bytes can be, becomes the longest.
    fn from_ordered(bytes: [u8; 20]) -> Self {
        let [a, b, c, d, rest @ ..] = bytes;
        let nanos = i128::from_ordered(rest);
        let days = nanos / DAY_NANOS;
        let days = i32::try_from(days).unwrap_or(if days < 0 { i32::MIN } else { i32::MAX });
        let left = nanos.saturating_sub(i128::from(days) * DAY_NANOS);
        let left = i64::try_from(left).unwrap_or(if left < 0 { i64::MIN } else { i64::MAX });
        IntervalMonthDayNano::new(i32::from_ordered([a, b, c, d]), days, left)
    }
}

/// In milliseconds, like [`IntervalMonthDayNano`] without months.
impl Fixed<8> for IntervalDayTime {
    fn to_ordered(self) -> [u8; 8] {
        (i64::from(self.days) * 86_400_000 + i64::from(self.milliseconds)).to_ordered()
    }

    fn from_ordered(bytes: [u8; 8]) -> Self {
        let millis = i64::from_ordered(bytes);
        let days = i32::try_from(millis / 86_400_000).unwrap_or(if millis < 0 { i32::MIN } else { i32::MAX });
        IntervalDayTime::new(days, (millis % 86_400_000) as i32)
    }
}

/// Evaluates `$body` with `$t` as the Arrow type of a column of fixed width; `$other` where the type is another.
macro_rules! with_fixed_type {
    ($data_type:expr, $t:ident => $body:expr, $other:expr) => {{
        use arrow::datatypes as types;
        use types::{DataType as D, IntervalUnit as I, TimeUnit as U};
        macro_rules! with {
            ($arrow:ident) => {{
                type $t = types::$arrow;
                $body
            }};
        }
        match $data_type {
            D::Int8 => with!(Int8Type),
            D::Int16 => with!(Int16Type),
            D::Int32 => with!(Int32Type),
            D::Int64 => with!(Int64Type),
            D::UInt8 => with!(UInt8Type),
            D::UInt16 => with!(UInt16Type),
            D::UInt32 => with!(UInt32Type),
            D::UInt64 => with!(UInt64Type),
            D::Float32 => with!(Float32Type),
            D::Float64 => with!(Float64Type),
            D::Decimal128(..) => with!(Decimal128Type),
            D::Date32 => with!(Date32Type),
            D::Date64 => with!(Date64Type),
            D::Time32(U::Second) => with!(Time32SecondType),
            D::Time32(_) => with!(Time32MillisecondType),
            D::Time64(U::Microsecond) => with!(Time64MicrosecondType),
            D::Time64(_) => with!(Time64NanosecondType),
            D::Timestamp(U::Second, _) => with!(TimestampSecondType),
            D::Timestamp(U::Millisecond, _) => with!(TimestampMillisecondType),
            D::Timestamp(U::Microsecond, _) => with!(TimestampMicrosecondType),
            D::Timestamp(U::Nanosecond, _) => with!(TimestampNanosecondType),
            D::Duration(U::Second) => with!(DurationSecondType),
            D::Duration(U::Millisecond) => with!(DurationMillisecondType),
            D::Duration(U::Microsecond) => with!(DurationMicrosecondType),
            D::Duration(U::Nanosecond) => with!(DurationNanosecondType),
            D::Interval(I::YearMonth) => with!(IntervalYearMonthType),
            D::Interval(I::DayTime) => with!(IntervalDayTimeType),
            D::Interval(I::MonthDayNano) => with!(IntervalMonthDayNanoType),
            _ => $other,
        }
    }};
}
pub(super) use with_fixed_type;
