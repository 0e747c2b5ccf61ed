//! What becomes of records of a table that cannot be read.

use crate::options::Options;
use flugs_types::{Error, Result};

/// The value of a table's option `malformed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnMalformed {
    /// The first one fails the job.
    Fail,
    /// They are counted and skipped.
    Skip,
    /// They are counted and written to a table: its name as it stands in the option.
    Route(String),
}

impl OnMalformed {
    /// The key of the option. It is said to the job, not to a connector.
    pub const KEY: &'static str = "malformed";

    /// What the options of a table say; none where it is left to the format (`'json.ignore-parse-errors'`).
    pub fn of(options: &Options) -> Result<Option<Self>> {
        let Some(value) = options.get(Self::KEY).map(str::trim) else { return Ok(None) };
        match value.strip_prefix("route:").map(str::trim) {
            Some(table) if !table.is_empty() => return Ok(Some(OnMalformed::Route(table.to_owned()))),
            None if value == "fail" => return Ok(Some(OnMalformed::Fail)),
            None if value == "skip" => return Ok(Some(OnMalformed::Skip)),
            _ => {}
        }
        Err(Error::job(format!("the option 'malformed' is 'fail', 'skip' or 'route:TABLE', not '{value}'"))
            .mend("write 'malformed' = 'route:t' to have records that cannot be read written to table t"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_has_three_forms() {
        let of = |value: &str| {
            OnMalformed::of(&std::iter::once(("malformed".to_owned(), value.to_owned())).collect())
        };
        assert_eq!(of("fail").unwrap(), Some(OnMalformed::Fail));
        assert_eq!(of(" skip ").unwrap(), Some(OnMalformed::Skip));
        assert_eq!(of("route: a.b").unwrap(), Some(OnMalformed::Route("a.b".to_owned())));
        assert_eq!(OnMalformed::of(&Options::new()).unwrap(), None);
        for wrong in ["", "drop", "route", "route:", "route: ", "SKIP"] {
            let error = of(wrong).unwrap_err().to_string();
            assert!(error.contains("is 'fail', 'skip' or 'route:TABLE'"), "{error}");
        }
    }
}
