//! Files that are written but not visible: what the checkpoint says of them, and how they become visible.

use super::names::PartPath;
use crate::{codec, failure};
use flugs_batch::Data;
use flugs_types::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) const VERSION: u8 = 1;

/// A hidden file and how many of its bytes are valid, all of which are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) path: PartPath,
    pub(crate) bytes: u64,
}

/// What stands on disk for a pending file.
enum Found {
    /// The hidden file, cut to its valid length.
    Hidden,
    /// It was committed already.
    Visible,
}

impl Pending {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = codec::versioned(VERSION);
        self.path.folder.to_string_lossy().into_owned().encode(&mut out);
        self.path.name.encode(&mut out);
        self.bytes.encode(&mut out);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        codec::decode("a file of a file sink", VERSION, bytes, |input| {
            let (folder, name) = (String::decode(input)?, String::decode(input)?);
            Ok(Pending { path: PartPath { folder: PathBuf::from(folder), name }, bytes: u64::decode(input)? })
        })
    }

    /// Makes the file visible, if it is not yet. The folder's entry is then to be forced to disk by the caller.
    pub(crate) fn commit(&self) -> Result<()> {
        if let Found::Visible = self.find()? {
            return Ok(());
        }
        let (hidden, visible) = (self.path.hidden(), self.path.visible());
        if fs::exists(&visible).map_err(|e| failure::reading(&visible, e))? {
            return Err(Error::state(format!("{} exists already and is not overwritten", visible.display()))
                .mend(format!(
                    "somebody else put it there: move it away; the rows are in {}",
                    hidden.display()
                )));
        }
        match fs::rename(&hidden, &visible) {
            // Another owner of the checkpoint, one that is about to be fenced or fences this one, has committed meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => self.find().map(drop),
            renamed => renamed.map_err(|e| failure::writing(&visible, e)),
        }
    }

    /// Takes over what an earlier writer left. Says whether it is still to be committed.
    pub(crate) fn adopt(&self) -> Result<bool> {
        Ok(matches!(self.find()?, Found::Hidden))
    }

    fn find(&self) -> Result<Found> {
        let (hidden, visible) = (self.path.hidden(), self.path.visible());
        if let Some(length) = length_of(&hidden)? {
            if length < self.bytes {
                return Err(self.lost(format!(
                    "{} has {length} bytes, {} were written",
                    hidden.display(),
                    self.bytes
                )));
            }
            if length > self.bytes {
                cut(&hidden, self.bytes).map_err(|e| failure::writing(&hidden, e))?;
            }
            return Ok(Found::Hidden);
        }
        match length_of(&visible)? {
            Some(length) if length == self.bytes => Ok(Found::Visible),
            Some(length) if length > self.bytes => Err(Error::state(format!(
                "{} was committed with {length} bytes, of which the checkpoint covers {}: the rows behind would be \
                 written twice",
                visible.display(),
                self.bytes
            ))
            .mend(
                "restore from the latest checkpoint, or write to another folder; with `.roll_on_checkpoint()` one \
                 can go back to any",
            )),
            Some(length) => {
                Err(self.lost(format!("{} has {length} bytes, {} were committed", visible.display(), self.bytes)))
            }
            None => Err(self.lost(format!("neither {} nor {} exists", hidden.display(), visible.display()))),
        }
    }

    fn lost(&self, what: String) -> Error {
        Error::state(format!("rows of the checkpoint are missing: {what}")).mend(
            "bring the file back; whoever takes committed files away does so only when a later checkpoint is \
                 complete",
        )
    }
}

fn length_of(path: &Path) -> Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failure::reading(path, e)),
    }
}

fn cut(path: &Path, bytes: u64) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(bytes)?;
    file.sync_all()
}

/// Forces the entries of folders to disk.
pub(crate) fn sync_folders(folders: &mut BTreeSet<PathBuf>) -> Result<()> {
    while let Some(folder) = folders.pop_first() {
        File::open(&folder).and_then(|f| f.sync_all()).map_err(|e| failure::writing(&folder, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_stays_readable() {
        let pending = Pending { path: PartPath { folder: "/o".into(), name: "p.csv".into() }, bytes: 258 };
        let fixture = b"\x01\x02\0\0\0/o\x05\0\0\0p.csv\x02\x01\0\0\0\0\0\0";
        assert_eq!(pending.encode(), fixture);
        assert_eq!(Pending::decode(fixture).unwrap(), pending);
        for cut in 0..fixture.len() {
            assert!(Pending::decode(&fixture[..cut]).is_err());
        }
    }
}
