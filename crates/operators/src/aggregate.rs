//! Aggregate functions: what is kept of many rows, and what is read from it. Windows and rolling aggregates share them.

use flugs_batch::{Data, Record};
use std::marker::PhantomData;
use std::sync::Arc;

/// Keeps an accumulator of the rows it has seen. One function serves all keys and windows, so it holds no data of its
/// own (Flink: `AggregateFunction`).
pub trait AggregateFunction: Send + Sync + 'static {
    /// The rows.
    type In: Record;
    /// What is kept of them.
    type Acc: Data;
    /// What is read from it.
    type Out: Record;

    /// The accumulator of no rows.
    fn create(&self) -> Self::Acc;

    /// Adds a row.
    fn add(&self, acc: &mut Self::Acc, row: &Self::In);

    /// The result so far.
    fn result(&self, acc: &Self::Acc) -> Self::Out;

    /// Adds all rows of `other`. The result must be that of adding its rows one by one after those of `acc`.
    fn merge(&self, acc: &mut Self::Acc, other: Self::Acc);
}

impl<A: AggregateFunction> AggregateFunction for Arc<A> {
    type In = A::In;
    type Acc = A::Acc;
    type Out = A::Out;

    fn create(&self) -> A::Acc {
        (**self).create()
    }

    #[inline]
    fn add(&self, acc: &mut A::Acc, row: &A::In) {
        (**self).add(acc, row);
    }

    fn result(&self, acc: &A::Acc) -> A::Out {
        (**self).result(acc)
    }

    fn merge(&self, acc: &mut A::Acc, other: A::Acc) {
        (**self).merge(acc, other);
    }
}

/// A number that can be summed.
pub trait Number: Data + Copy + PartialOrd {
    /// Nothing.
    const ZERO: Self;

    /// The sum; integers wrap around where it does not fit, as in Flink. Sum a wider type where that can happen.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// The nearest `f64`.
    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($t:ty),+) => {$(
        impl Number for $t {
            const ZERO: Self = 0;

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )+};
}
integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

macro_rules! floats {
    ($($t:ty),+) => {$(
        impl Number for $t {
            const ZERO: Self = 0.0;

            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )+};
}
floats!(f32, f64);

/// How many rows.
pub struct Count<T>(PhantomData<fn(&T)>);

impl<T> Clone for Count<T> {
    fn clone(&self) -> Self {
        Count(PhantomData)
    }
}

impl<T> Count<T> {
    /// Counts rows `T`.
    pub fn new() -> Self {
        Count(PhantomData)
    }
}

impl<T> Default for Count<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Record> AggregateFunction for Count<T> {
    type In = T;
    type Acc = u64;
    type Out = u64;

    fn create(&self) -> u64 {
        0
    }

    #[inline]
    fn add(&self, acc: &mut u64, _: &T) {
        *acc += 1;
    }

    fn result(&self, acc: &u64) -> u64 {
        *acc
    }

    fn merge(&self, acc: &mut u64, other: u64) {
        *acc += other;
    }
}

/// An aggregate of the values that a closure takes out of the rows.
macro_rules! of_field {
    ($(#[$doc:meta])* $name:ident, $new:literal) => {
        $(#[$doc])*
        pub struct $name<T, N, F> {
            field: F,
            types: PhantomData<fn(&T) -> N>,
        }

        impl<T, N, F: Clone> Clone for $name<T, N, F> {
            fn clone(&self) -> Self {
                $name { field: self.field.clone(), types: PhantomData }
            }
        }

        impl<T, N, F: Fn(&T) -> N> $name<T, N, F> {
            #[doc = $new]
            pub fn of(field: F) -> Self {
                $name { field, types: PhantomData }
            }
        }
    };
}

of_field! {
    /// The sum of a number of each row. Integers wrap around where the sum does not fit their type.
    Sum, "Sums what `field` takes out of a row."
}

impl<T: Record, N: Number, F: Fn(&T) -> N + Send + Sync + 'static> AggregateFunction for Sum<T, N, F> {
    type In = T;
    type Acc = N;
    type Out = N;

    fn create(&self) -> N {
        N::ZERO
    }

    #[inline]
    fn add(&self, acc: &mut N, row: &T) {
        *acc = acc.plus((self.field)(row));
    }

    fn result(&self, acc: &N) -> N {
        *acc
    }

    fn merge(&self, acc: &mut N, other: N) {
        *acc = acc.plus(other);
    }
}

of_field! {
    /// The smallest value, `None` of no rows. The first of equal ones stays.
    Min, "The smallest of what `field` takes out of a row."
}

of_field! {
    /// The largest value, `None` of no rows. The first of equal ones stays.
    Max, "The largest of what `field` takes out of a row."
}

macro_rules! extreme {
    ($name:ident, $better:tt) => {
        impl<T, N, F> AggregateFunction for $name<T, N, F>
        where
            T: Record,
            N: Data + PartialOrd,
            F: Fn(&T) -> N + Send + Sync + 'static,
        {
            type In = T;
            type Acc = Option<N>;
            type Out = Option<N>;

            fn create(&self) -> Option<N> {
                None
            }

            #[inline]
            fn add(&self, acc: &mut Option<N>, row: &T) {
                let value = (self.field)(row);
                if acc.as_ref().is_none_or(|best| value $better *best) {
                    *acc = Some(value);
                }
            }

            fn result(&self, acc: &Option<N>) -> Option<N> {
                acc.clone()
            }

            fn merge(&self, acc: &mut Option<N>, other: Option<N>) {
                let Some(value) = other else { return };
                if acc.as_ref().is_none_or(|best| value $better *best) {
                    *acc = Some(value);
                }
            }
        }
    };
}
extreme!(Min, <);
extreme!(Max, >);

of_field! {
    /// The mean of a number of each row as `f64`; not a number where there are no rows.
    Avg, "The mean of what `field` takes out of a row."
}

impl<T: Record, N: Number, F: Fn(&T) -> N + Send + Sync + 'static> AggregateFunction for Avg<T, N, F> {
    type In = T;
    type Acc = (f64, u64);
    type Out = f64;

    fn create(&self) -> (f64, u64) {
        (0.0, 0)
    }

    #[inline]
    fn add(&self, (sum, count): &mut (f64, u64), row: &T) {
        *sum += (self.field)(row).to_f64();
        *count += 1;
    }

    fn result(&self, (sum, count): &(f64, u64)) -> f64 {
        sum / *count as f64
    }

    fn merge(&self, acc: &mut (f64, u64), other: (f64, u64)) {
        acc.0 += other.0;
        acc.1 += other.1;
    }
}

/// Several aggregates of the same rows at once.
macro_rules! tuple {
    ($first:ident $(, $other:ident)+ ; $($at:tt),+) => {
        impl<$first: AggregateFunction, $($other: AggregateFunction<In = $first::In>),+> AggregateFunction
            for ($first, $($other),+)
        {
            type In = $first::In;
            type Acc = ($first::Acc, $($other::Acc),+);
            type Out = ($first::Out, $($other::Out),+);

            fn create(&self) -> Self::Acc {
                ($(self.$at.create()),+)
            }

            #[inline]
            fn add(&self, acc: &mut Self::Acc, row: &Self::In) {
                $(self.$at.add(&mut acc.$at, row);)+
            }

            fn result(&self, acc: &Self::Acc) -> Self::Out {
                ($(self.$at.result(&acc.$at)),+)
            }

            fn merge(&self, acc: &mut Self::Acc, other: Self::Acc) {
                $(self.$at.merge(&mut acc.$at, other.$at);)+
            }
        }
    };
}
tuple!(A, B; 0, 1);
tuple!(A, B, C; 0, 1, 2);

#[cfg(test)]
mod tests {
    use super::*;

    fn fold<A: AggregateFunction>(function: &A, rows: &[A::In]) -> A::Acc {
        let mut acc = function.create();
        rows.iter().for_each(|row| function.add(&mut acc, row));
        acc
    }

    #[test]
    fn merging_is_adding() {
        let function = (
            (Count::new(), Sum::of(|x: &i64| *x), Avg::of(|x: &i64| *x)),
            Min::of(|x: &i64| *x),
            Max::of(|x: &i64| *x),
        );
        let rows = [3, -7, 9, 9, 0, 1];
        let expected = ((6, 15, 2.5), Some(-7), Some(9));
        for cut in 0..=rows.len() {
            let mut acc = fold(&function, &rows[..cut]);
            function.merge(&mut acc, fold(&function, &rows[cut..]));
            assert_eq!(function.result(&acc), expected, "cut at {cut}");
        }
    }

    #[test]
    fn of_no_rows() {
        assert_eq!(Min::of(|x: &i64| *x).result(&None), None);
        assert!(Avg::of(|x: &f64| *x).result(&(0.0, 0)).is_nan());
        assert_eq!(Sum::of(|x: &u8| *x).result(&0), 0);
    }

    #[test]
    fn integers_wrap_around() {
        assert_eq!(fold(&Sum::of(|x: &u8| *x), &[200, 100]), 44);
    }
}
