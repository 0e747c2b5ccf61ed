//! Delays of a group of departures, summed as they come.

use crate::records::Departure;
use flugs::Data;
use flugs::operators::AggregateFunction;

/// A departure more than this late, in minutes, counts as late.
const LATE_MINUTES: i64 = 15;

/// Whole minutes, so that the order of summing does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Data)]
pub struct Delays {
    pub flights: u64,
    pub sum: i64,
    pub max: i64,
    pub late: u64,
}

impl Delays {
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.flights as f64
    }

    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.flights as f64
    }
}

/// Sums [`Delays`].
#[derive(Debug, Clone)]
pub struct SumDelays;

impl AggregateFunction for SumDelays {
    type In = Departure;
    type Acc = Delays;
    type Out = Delays;

    fn create(&self) -> Delays {
        Delays { max: i64::MIN, ..Delays::default() }
    }

    fn add(&self, delays: &mut Delays, departure: &Departure) {
        let minutes = i64::from(departure.dep_delay);
        delays.flights += 1;
        delays.sum += minutes;
        delays.max = delays.max.max(minutes);
        delays.late += u64::from(minutes > LATE_MINUTES);
    }

    fn result(&self, delays: &Delays) -> Delays {
        delays.clone()
    }

    fn merge(&self, delays: &mut Delays, other: Delays) {
        delays.flights += other.flights;
        delays.sum += other.sum;
        delays.max = delays.max.max(other.max);
        delays.late += other.late;
    }
}
