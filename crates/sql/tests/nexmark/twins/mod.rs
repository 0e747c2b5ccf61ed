//! Each query once more, by hand: what its text says, over all events at once.
//!
//! Rows are columns with `|` between, times in milliseconds, decimals in plain digits.

mod aggregates;
mod joins;
mod ranks;
mod rows;
mod windows;

pub(crate) use aggregates::{q15, q16, q17};
pub(crate) use joins::{q3, q4, q6, q9, q20};
pub(crate) use ranks::{q18, q19};
pub(crate) use rows::{bid_rows, q0, q1, q2, q10, q13, q14, q21, q22};
pub(crate) use windows::{q5, q7, q8, q11};

use flugs_types::Timestamp;

fn ms(time: Timestamp) -> i64 {
    time.as_millis()
}

/// Year, month, day and minute of the day, from milliseconds since 2015-07-15 00:00.
struct Clock {
    day: i64,
    minute: i64,
}

impl Clock {
    fn of(time: Timestamp) -> Self {
        let since = ms(time) - 1_436_918_400_000;
        Clock { day: 15 + since / 86_400_000, minute: since % 86_400_000 / 60_000 }
    }

    fn hour(&self) -> i64 {
        self.minute / 60
    }

    /// `yyyy-MM-dd`.
    fn date(&self) -> String {
        format!("2015-07-{:02}", self.day)
    }

    /// `HH:mm`.
    fn hour_minute(&self) -> String {
        format!("{:02}:{:02}", self.hour(), self.minute % 60)
    }
}
