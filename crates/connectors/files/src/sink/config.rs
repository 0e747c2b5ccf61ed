//! Where and how files are written, whatever is in them.

use super::names::PartNames;
use super::part::Rolling;
use crate::{Compression, failure};
use flugs_types::{Error, OperatorUid, Result};
use std::path::PathBuf;

/// What a sink of files is told.
#[derive(Debug, Clone)]
pub(crate) struct SinkConfig {
    pub(crate) folder: PathBuf,
    pub(crate) rolling: Rolling,
    pub(crate) roll_on_checkpoint: bool,
    pub(crate) compression: Compression,
    pub(crate) open_buckets_max: usize,
    pub(crate) prefix: String,
    /// The format's own.
    pub(crate) extension: &'static str,
    /// In place of the format's extension and that of the compression.
    pub(crate) suffix: Option<String>,
}

impl SinkConfig {
    pub(crate) fn new(folder: PathBuf, extension: &'static str) -> Self {
        SinkConfig {
            folder,
            rolling: Rolling::default(),
            roll_on_checkpoint: false,
            compression: Compression::None,
            open_buckets_max: 100,
            prefix: "part".to_owned(),
            extension,
            suffix: None,
        }
    }

    pub(crate) fn absolute_folder(&self) -> Result<PathBuf> {
        let folder = std::path::absolute(&self.folder).map_err(|e| failure::writing(&self.folder, e))?;
        folder.to_str().ok_or_else(|| failure::not_utf8(&folder))?;
        Ok(folder)
    }

    pub(super) fn names(&self, job: &str, uid: &OperatorUid) -> Result<PartNames> {
        for (what, text) in [("prefix", Some(self.prefix.as_str())), ("suffix", self.suffix.as_deref())] {
            let text = text.unwrap_or("x");
            if text.is_empty()
                || text.starts_with(['.', '_'])
                || text.contains(['/', '\\', '\0'])
                || text.len() > 64
            {
                return Err(Error::job(format!("'{text}' cannot be the {what} of file names")).mend(
                    "take 1 to 64 bytes, no separators, and no `.` or `_` at the start, which hides files",
                ));
            }
        }
        let suffix = match &self.suffix {
            Some(suffix) => suffix.clone(),
            None => format!("{}{}", self.extension, self.compression.suffix()),
        };
        Ok(PartNames::new(&self.prefix, job, uid, suffix))
    }
}
