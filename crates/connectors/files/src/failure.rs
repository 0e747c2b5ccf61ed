//! What the operating system says, as errors that tell what to do.

use flugs_types::Error;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The error of reading or listing `path`.
pub(crate) fn reading(path: &Path, error: io::Error) -> Error {
    let shown = path.display();
    let error_kind = error.kind();
    match error_kind {
        ErrorKind::NotFound => Error::environment(format!("there is no file {shown}"))
            .mend("check the path; remove a file only when a checkpoint after its last row is complete"),
        ErrorKind::PermissionDenied => Error::environment(format!("{shown} may not be read"))
            .mend("give the user that runs the job the right to read it"),
        ErrorKind::UnexpectedEof => Error::data(format!("{shown} ends in the middle of its compressed data"))
            .mend("the file is cut off: replace it by a whole copy"),
        ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            Error::data(format!("{shown} cannot be decompressed"))
                .mend("it is damaged: replace it by a whole copy")
        }
        ErrorKind::NotADirectory => Error::environment(format!("{shown} cannot be read"))
            .mend("check the path: a part of it is a file, or a link that leads nowhere"),
        _ => Error::environment(format!("{shown} cannot be read")).mend(
            "check the path and the disk, and start the job again: it goes on from its last checkpoint",
        ),
    }
    .caused_by(error)
}

/// The error of writing (creating, renaming, ...) `path`.
pub(crate) fn writing(path: &Path, error: io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::environment(format!("no space left to write {shown}")).mend(
                "free space and restart the job: it goes on from its last checkpoint, and nothing that was \
                 committed is lost",
            )
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Error::environment(format!("{shown} may not be written"))
                .mend("give the user that runs the job the right to write to the folder")
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            Error::environment(format!("{shown} cannot be written"))
                .mend("a file stands where a folder is to be: move it away, or write to another folder")
        }
        _ => Error::environment(format!("{shown} cannot be written")).mend(
            "check the path and the disk, and start the job again: it goes on from its last checkpoint",
        ),
    }
    .caused_by(error)
}

/// The error of a path that is not UTF-8.
pub(crate) fn not_utf8(path: &Path) -> Error {
    Error::environment(format!("the path {} is not UTF-8", path.display()))
        .mend("rename it: paths are kept in checkpoints as text")
}
