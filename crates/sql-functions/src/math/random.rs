//! Random numbers.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, data_error};
use arrow::array::ArrayRef;
use arrow::datatypes::{Float64Type, Int32Type};
use datafusion_common::Result;
use datafusion_expr::Expr;
use flugs_sql_types::LogicalType;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

/// How many seeds' sequences are kept going.
const SEEDS_MAX: usize = 1024;

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        // Each use in a query begins a sequence of its own.
        rand().rewritten(|args| Ok(rand().into_udf().call(args))),
        rand_integer().rewritten(|args: Vec<Expr>| Ok(rand_integer().into_udf().call(args))),
        Definition::new(
            Category::Arithmetic,
            "UUID",
            "UUID()",
            "A random UUID, another one for each row.",
            |call: &Call<'_>| call.collect_texts(|_| Ok(Some(uuid::Uuid::new_v4().to_string()))),
        )
        .volatile()
        .not_null(),
    ]
}

fn rand() -> Definition {
    let sequences = Sequences::default();
    Definition::new(
        Category::Arithmetic,
        "RAND",
        "RAND([seed])",
        "A random number from 0 up to but not including 1; of a seed, Java's sequence.",
        move |call: &Call<'_>| {
            let seeds = (call.len() > 0).then(|| call.ints(0));
            call.collect::<Float64Type>(|row| {
                let Some(seed) = seeds.map_or(Some(None), |s| s.get(row).map(Some)) else { return Ok(None) };
                Ok(Some(sequences.next(seed, Random::next_double)))
            })
        },
    )
    .optionally(&[Parameter::Int])
    .returns(LogicalType::Double)
    .volatile()
}

fn rand_integer() -> Definition {
    let sequences = Sequences::default();
    Definition::new(
        Category::Arithmetic,
        "RAND_INTEGER",
        "RAND_INTEGER([seed, ]bound)",
        "A random integer from 0 up to but not including a bound; of a seed, Java's sequence.",
        move |call: &Call<'_>| rand_integers(call, &sequences),
    )
    .takes(&[Parameter::Int])
    .optionally(&[Parameter::Int])
    .returns(LogicalType::Int)
    .volatile()
}

fn rand_integers(call: &Call<'_>, sequences: &Sequences) -> Result<ArrayRef> {
    let seeds = (call.len() > 1).then(|| call.ints(0));
    let bounds = call.ints(call.len() - 1);
    call.collect::<Int32Type>(|row| {
        let Some(seed) = seeds.map_or(Some(None), |s| s.get(row).map(Some)) else { return Ok(None) };
        let Some(bound) = bounds.get(row) else { return Ok(None) };
        if bound <= 0 {
            return Err(data_error(format!("the bound of RAND_INTEGER must be positive, not {bound}")));
        }
        Ok(Some(sequences.next(seed, |random| random.next_below(bound))))
    })
}

/// The sequences of the seeds in use, and one without a seed.
#[derive(Default, Clone)]
struct Sequences(Arc<Mutex<BTreeMap<Option<i32>, Random>>>);

impl Sequences {
    fn next<T>(&self, seed: Option<i32>, draw: impl FnOnce(&mut Random) -> T) -> T {
        let mut sequences = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sequences.len() > SEEDS_MAX {
            sequences.clear();
        }
        // A hasher's keys are the randomness the standard library has.
        let start = || Random::new(seed.map_or_else(|| RandomState::new().hash_one(0) as i64, i64::from));
        draw(sequences.entry(seed).or_insert_with(start))
    }
}

/// The linear congruential generator that `java.util.Random` is specified as.
struct Random(i64);

const MASK: i64 = (1 << 48) - 1;

impl Random {
    fn new(seed: i64) -> Self {
        Random((seed ^ 0x5_DEEC_E66D) & MASK)
    }

    fn next(&mut self, bits: u32) -> i32 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & MASK;
        (self.0 >> (48 - bits)) as i32
    }

    fn next_double(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 27;
        (high + i64::from(self.next(27))) as f64 / (1i64 << 53) as f64
    }

    fn next_below(&mut self, bound: i32) -> i32 {
        if bound & bound.wrapping_neg() == bound {
            return ((i64::from(bound) * i64::from(self.next(31))) >> 31) as i32;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // The last, incomplete run of values would come too often.
            if bits.wrapping_sub(value).wrapping_add(bound - 1) >= 0 {
                return value;
            }
        }
    }
}
