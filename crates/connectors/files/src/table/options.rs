//! The options of a table of files.

use super::commit::{CommitOptions, TimeExtractor, Trigger};
use flugs_table::{OptionKind, OptionSpec, Options};
use flugs_types::{Error, Result};
use regex::Regex;
use std::path::PathBuf;
use std::time::Duration;

const fn spec(
    key: &'static str,
    kind: OptionKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> OptionSpec {
    OptionSpec { key, kind, default, doc }
}

const PATH: OptionSpec = spec("path", OptionKind::String, None, "a file, a folder or a pattern");
const MONITOR_INTERVAL: OptionSpec =
    spec("source.monitor-interval", OptionKind::Duration, None, "how often to look for new files");
const REGEX_PATTERN: OptionSpec = spec(
    "source.path.regex-pattern",
    OptionKind::String,
    None,
    "only files whose whole path matches are read",
);
const DEFAULT_NAME: OptionSpec = spec(
    "partition.default-name",
    OptionKind::String,
    Some("__DEFAULT_PARTITION__"),
    "the folder name of NULL",
);
const RELOAD_INTERVAL: OptionSpec = spec(
    "lookup.full-cache.periodic-reload.interval",
    OptionKind::Duration,
    None,
    "how often a table that rows are looked up in is read again",
);
const CACHE_TTL: OptionSpec = spec(
    "lookup.cache.ttl",
    OptionKind::Duration,
    None,
    "the same as lookup.full-cache.periodic-reload.interval",
);

const MAX_RECORD_SIZE: OptionSpec =
    spec("source.max-record-size", OptionKind::Memory, Some("16mb"), "longer records are malformed");

/// Longer records are malformed, unless the table says otherwise.
const RECORD_BYTES_MAX: u64 = 16 << 20;
/// What it may say at most.
const RECORD_BYTES_LIMIT: u64 = 1 << 30;

/// Those of tables that are read alone.
pub(super) const READ_OPTIONS: &[OptionSpec] =
    &[PATH, MONITOR_INTERVAL, REGEX_PATTERN, MAX_RECORD_SIZE, DEFAULT_NAME, RELOAD_INTERVAL, CACHE_TTL];

pub(super) const OPTIONS: &[OptionSpec] = &[
    PATH,
    MONITOR_INTERVAL,
    REGEX_PATTERN,
    MAX_RECORD_SIZE,
    DEFAULT_NAME,
    spec("sink.rolling-policy.file-size", OptionKind::Memory, Some("128mb"), "a file ends at this size"),
    spec(
        "sink.rolling-policy.rollover-interval",
        OptionKind::Duration,
        Some("30min"),
        "a file is open for at most so long",
    ),
    spec(
        "sink.rolling-policy.inactivity-interval",
        OptionKind::Duration,
        Some("30min"),
        "a file ends when no row came for so long",
    ),
    spec(
        "sink.rolling-policy.check-interval",
        OptionKind::Duration,
        Some("1min"),
        "without effect: files end when they are due",
    ),
    spec("sink.parallelism", OptionKind::Integer, None, "how many writers there are"),
    spec(
        "sink.partition-commit.trigger",
        OptionKind::Enum(&["process-time", "partition-time"]),
        Some("process-time"),
        "by which time a partition is whole",
    ),
    spec("sink.partition-commit.delay", OptionKind::Duration, Some("0 s"), "how long after that time"),
    spec(
        "sink.partition-commit.policy.kind",
        OptionKind::String,
        None,
        "how a partition is marked as whole: success-file",
    ),
    spec(
        "sink.partition-commit.success-file.name",
        OptionKind::String,
        Some("_SUCCESS"),
        "the name of the success file",
    ),
    spec("sink.partition-commit.watermark-time-zone", OptionKind::String, Some("UTC"), "UTC alone"),
    spec("partition.time-extractor.kind", OptionKind::Enum(&["default"]), Some("default"), "default alone"),
    spec(
        "partition.time-extractor.timestamp-pattern",
        OptionKind::String,
        None,
        "where the time in a partition's name stands, such as '$dt $hm:00'",
    ),
    spec(
        "partition.time-extractor.timestamp-formatter",
        OptionKind::String,
        None,
        "how the time in a partition's name is written",
    ),
    spec("auto-compaction", OptionKind::Boolean, Some("false"), "refused where it is true"),
    RELOAD_INTERVAL,
    CACHE_TTL,
];

/// What the options say, but for those of writing.
#[derive(Debug, Clone)]
pub(super) struct FileOptions {
    pub(super) path: PathBuf,
    pub(super) watch: Option<Duration>,
    pub(super) pattern: Option<Regex>,
    pub(super) record_bytes_max: usize,
    pub(super) default_partition: String,
    pub(super) reload: Option<Duration>,
}

fn record_bytes_max(options: &Options) -> Result<usize> {
    match options.memory(MAX_RECORD_SIZE.key)?.unwrap_or(RECORD_BYTES_MAX) {
        bytes @ 1..=RECORD_BYTES_LIMIT => Ok(bytes as usize),
        bytes => {
            Err(Error::job(format!("'{}' is {bytes} bytes", MAX_RECORD_SIZE.key))
                .mend("write a size up to 1 gb"))
        }
    }
}

impl FileOptions {
    pub(super) fn of(options: &Options) -> Result<Self> {
        let reload = match options.duration("lookup.full-cache.periodic-reload.interval")? {
            Some(interval) => Some(interval),
            None => options.duration("lookup.cache.ttl")?,
        };
        Ok(FileOptions {
            path: local_path(options.required("path")?)?,
            watch: options.duration("source.monitor-interval")?,
            pattern: options.get("source.path.regex-pattern").map(whole_path).transpose()?,
            record_bytes_max: record_bytes_max(options)?,
            default_partition: options
                .get("partition.default-name")
                .unwrap_or("__DEFAULT_PARTITION__")
                .to_owned(),
            reload,
        })
    }
}

fn whole_path(pattern: &str) -> Result<Regex> {
    Regex::new(&format!("^(?:{pattern})$")).map_err(|e| {
        Error::job(format!(
            "option 'source.path.regex-pattern' has the value '{pattern}', which is no pattern"
        ))
        .caused_by(e)
    })
}

/// A path of the local file system, also as a URI.
fn local_path(text: &str) -> Result<PathBuf> {
    let path = match text.split_once(':') {
        Some(("file", rest)) => rest.strip_prefix("//").unwrap_or(rest),
        Some((scheme, rest)) if rest.starts_with("//") => {
            return Err(Error::job(format!("files at '{scheme}://' cannot be reached"))
                .mend("give a path of this machine, or what is mounted as one"));
        }
        _ => text,
    };
    if path.is_empty() {
        return Err(Error::job("option 'path' is empty").mend("give a file, a folder or a pattern"));
    }
    Ok(PathBuf::from(path))
}

/// How files are written.
#[derive(Debug, Clone)]
pub(super) struct WriteOptions {
    pub(super) roll_bytes: u64,
    pub(super) roll_after: Duration,
    pub(super) roll_inactive: Duration,
    pub(super) parallelism: Option<u32>,
    pub(super) commit: Option<CommitOptions>,
}

impl WriteOptions {
    pub(super) fn of(options: &Options, partition_keys: &[String]) -> Result<Self> {
        const HALF_HOUR: Duration = Duration::from_secs(30 * 60);
        if options.boolean("auto-compaction")? == Some(true) {
            return Err(Error::job("option 'auto-compaction' cannot be 'true': files are not compacted")
                .mend("leave it out, and raise 'sink.rolling-policy.file-size' for fewer files"));
        }
        Ok(WriteOptions {
            roll_bytes: options.memory("sink.rolling-policy.file-size")?.unwrap_or(128 << 20),
            roll_after: options.duration("sink.rolling-policy.rollover-interval")?.unwrap_or(HALF_HOUR),
            roll_inactive: options.duration("sink.rolling-policy.inactivity-interval")?.unwrap_or(HALF_HOUR),
            parallelism: options.integer("sink.parallelism")?,
            commit: commit_options(options, partition_keys)?,
        })
    }
}

fn commit_options(options: &Options, partition_keys: &[String]) -> Result<Option<CommitOptions>> {
    let Some(kinds) = options.get("sink.partition-commit.policy.kind") else { return Ok(None) };
    if let Some(unknown) = kinds.split(',').map(str::trim).find(|kind| *kind != "success-file") {
        return Err(Error::job(format!("there is no partition-commit policy '{unknown}'"))
            .mend("set 'sink.partition-commit.policy.kind' to 'success-file'"));
    }
    if partition_keys.is_empty() {
        return Err(Error::job("a table without partitions has none to commit")
            .mend("add PARTITIONED BY, or leave out 'sink.partition-commit.policy.kind'"));
    }
    let zone = options.get("sink.partition-commit.watermark-time-zone").unwrap_or("UTC");
    if !zone.eq_ignore_ascii_case("UTC") {
        return Err(Error::job(format!("'sink.partition-commit.watermark-time-zone' cannot be '{zone}'"))
            .mend("take UTC, and a delay for the difference"));
    }
    let is_by_partition = options
        .get("sink.partition-commit.trigger")
        .is_some_and(|trigger| trigger.eq_ignore_ascii_case("partition-time"));
    let trigger = if is_by_partition {
        let pattern = options.get("partition.time-extractor.timestamp-pattern");
        let formatter = options.get("partition.time-extractor.timestamp-formatter");
        Trigger::PartitionTime(TimeExtractor::new(pattern, formatter, partition_keys)?)
    } else {
        Trigger::ProcessTime
    };
    Ok(Some(CommitOptions {
        trigger,
        delay: options.duration("sink.partition-commit.delay")?.unwrap_or(Duration::ZERO),
        file_name: options.get("sink.partition-commit.success-file.name").unwrap_or("_SUCCESS").to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn paths_may_be_uris_of_this_machine() {
        for (text, want) in [
            ("/a/b", "/a/b"),
            ("file:///a/b", "/a/b"),
            ("file:/a/b", "/a/b"),
            ("a/*.csv", "a/*.csv"),
            ("/a:b", "/a:b"),
        ] {
            assert_eq!(FileOptions::of(&options(&[("path", text)])).unwrap().path, PathBuf::from(want));
        }
        let error = FileOptions::of(&options(&[("path", "s3://b/k")])).unwrap_err().to_string();
        assert!(error.contains("'s3://' cannot be reached"), "{error}");
        assert!(FileOptions::of(&options(&[])).is_err());
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let keys = ["dt".to_owned()];
        let error = |pairs: &[(&str, &str)], keys: &[String]| {
            WriteOptions::of(&options(pairs), keys).unwrap_err().to_string()
        };
        assert!(error(&[("auto-compaction", "true")], &[]).contains("files are not compacted"));
        let metastore = ("sink.partition-commit.policy.kind", "metastore,success-file");
        assert!(error(&[metastore], &keys).contains("no partition-commit policy 'metastore'"));
        let success = ("sink.partition-commit.policy.kind", "success-file");
        assert!(error(&[success], &[]).contains("without partitions"));
        let zone = ("sink.partition-commit.watermark-time-zone", "Asia/Shanghai");
        assert!(error(&[success, zone], &keys).contains("Asia/Shanghai"));
    }
}
