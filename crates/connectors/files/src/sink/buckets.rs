//! Which sub-folder a row goes to.

use flugs_types::Timestamp;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

/// The bucket of rows that have no event time.
const NO_TIME: &str = "no-time";

type Name<T> = dyn Fn(&T, Timestamp, &mut String) + Send + Sync;

/// Says which sub-folder (bucket) a row goes to.
///
/// Whatever the names are, files stay inside the sink's folder: letters that mean something to file systems or hide
/// files are written as `%` and their code, and names of more than 200 bytes are cut and made unique by a hash.
pub struct Buckets<T> {
    name: Arc<Name<T>>,
    /// Whether a `/` in a name separates folders.
    pub(super) nested: bool,
}

impl<T> Buckets<T> {
    /// No sub-folders.
    pub fn none() -> Self {
        Buckets { name: Arc::new(|_, _, _| {}), nested: true }
    }

    /// By a path relative to the sink's folder, such as `dt=2013-01-01/hr=10`, made from the row and its event time.
    pub fn by(path: impl Fn(&T, Timestamp) -> String + Send + Sync + 'static) -> Self {
        let name = move |row: &T, time: Timestamp, out: &mut String| out.push_str(&path(row, time));
        Buckets { name: Arc::new(name), nested: true }
    }

    /// By a key, whose letters may be anything: a `/` in it separates nothing.
    pub fn by_key<K: fmt::Display>(key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        let name = move |row: &T, _: Timestamp, out: &mut String| {
            // Writing to a string fails only where the key's own `Display` does.
            let _ = write!(out, "{}", key(row));
        };
        Buckets { name: Arc::new(name), nested: false }
    }

    /// By the hour of the event time in UTC: `2013-01-01--10`. Rows without one go to `no-time`.
    pub fn event_hour() -> Self {
        Buckets { name: Arc::new(|_, time, out| time_name(time, true, out)), nested: false }
    }

    /// By the day of the event time in UTC: `2013-01-01`. Rows without one go to `no-time`.
    pub fn event_day() -> Self {
        Buckets { name: Arc::new(|_, time, out| time_name(time, false, out)), nested: false }
    }

    /// Puts the name of the row's bucket into `out`.
    pub(super) fn name(&self, row: &T, time: Timestamp, out: &mut String) {
        out.clear();
        (self.name)(row, time, out);
    }
}

fn time_name(time: Timestamp, hour: bool, out: &mut String) {
    let _ = write!(out, "{time}");
    let Some(day_end) = out.find('T') else {
        out.clear();
        return out.push_str(NO_TIME);
    };
    if hour {
        out.replace_range(day_end..=day_end, "--");
        out.truncate(day_end + 4);
    } else {
        out.truncate(day_end);
    }
}

impl<T> Clone for Buckets<T> {
    fn clone(&self) -> Self {
        Buckets { name: Arc::clone(&self.name), nested: self.nested }
    }
}

impl<T> fmt::Debug for Buckets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("nested", &self.nested).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_times_name_days_and_hours() {
        let mut name = String::new();
        for (time, day, hour) in [
            ("2013-01-01T10:15:00Z", "2013-01-01", "2013-01-01--10"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31", "1969-12-31--23"),
        ] {
            let time = time.parse().unwrap();
            Buckets::event_day().name(&(), time, &mut name);
            assert_eq!(name, day);
            Buckets::event_hour().name(&(), time, &mut name);
            assert_eq!(name, hour);
        }
        Buckets::event_hour().name(&(), Timestamp::MIN, &mut name);
        assert_eq!(name, "no-time");
    }
}
