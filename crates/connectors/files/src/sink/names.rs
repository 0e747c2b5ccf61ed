//! The names of files and folders.

use flugs_types::{Attempt, Generation, OperatorUid, SubtaskId, hash_bytes};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HIDDEN_PREFIX: &str = ".";
const HIDDEN_SUFFIX: &str = ".inprogress";

/// Names of folders longer than this are cut.
const NAME_BYTES_MAX: usize = 200;

/// A file by its final name. Until it is committed it has a hidden one, from which the final one follows: so
/// whoever creates the hidden file, which fails where it exists, owns the final name too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartPath {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl PartPath {
    pub(super) fn visible(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    pub(super) fn hidden(&self) -> PathBuf {
        self.folder.join(format!("{HIDDEN_PREFIX}{}{HIDDEN_SUFFIX}", self.name))
    }
}

/// Makes the names of a sink's files.
#[derive(Debug, Clone)]
pub(super) struct PartNames {
    /// The same for all files of the sink: `part-01234567-`.
    stem: String,
    suffix: String,
}

/// Which writer makes a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Author {
    pub(super) subtask: SubtaskId,
    pub(super) generation: Generation,
    pub(super) attempt: Attempt,
}

impl PartNames {
    pub(super) fn new(prefix: &str, job: &str, uid: &OperatorUid, suffix: String) -> Self {
        let sink = hash_bytes(format!("{job}/{uid}").as_bytes()) >> 32;
        PartNames { stem: format!("{prefix}-{sink:08x}-"), suffix }
    }

    pub(super) fn name(&self, author: Author, number: u64) -> String {
        let Author { subtask, generation, attempt } = author;
        format!("{}{}-{generation}-{attempt}-{number}.{}", self.stem, subtask.index, self.suffix)
    }

    /// The generation in a hidden file's name, if the file is one of this sink's.
    pub(super) fn generation_of_hidden(&self, file_name: &str) -> Option<Generation> {
        let name = file_name.strip_prefix(HIDDEN_PREFIX)?.strip_suffix(HIDDEN_SUFFIX)?;
        let numbers = name.strip_prefix(&self.stem)?.split_once('.')?.0;
        let mut numbers = numbers.split('-').map(|number| number.parse::<u64>().ok());
        let (_subtask, generation) = (numbers.next()??, numbers.next()??);
        numbers.next()??;
        numbers.next()??;
        numbers.next().is_none().then_some(Generation(generation))
    }
}

/// The folder of a bucket: inside `folder`, whatever the bucket's name. Different names give different folders.
pub(super) fn bucket_folder(folder: &Path, bucket: &str, nested: bool) -> PathBuf {
    let mut path = folder.to_owned();
    if !nested {
        path.push(harmless(bucket));
    } else if !bucket.is_empty() {
        path.extend(bucket.split('/').map(harmless));
    }
    path
}

/// A name without letters that mean something to file systems, shells' patterns or our own source.
fn harmless(name: &str) -> String {
    if name.is_empty() {
        return "%".to_owned();
    }
    let mut out = String::with_capacity(name.len());
    for (i, letter) in name.char_indices() {
        let hides = i == 0 && matches!(letter, '.' | '_');
        if hides || letter.is_control() || "/\\%:*?\"<>|".contains(letter) {
            let mut utf8 = [0; 4];
            for byte in letter.encode_utf8(&mut utf8).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(letter);
        }
    }
    if out.len() > NAME_BYTES_MAX {
        out.truncate(out.floor_char_boundary(NAME_BYTES_MAX - 20));
        // No escaped letter starts so: a name that is short enough cannot be equal.
        let _ = write!(out, "%~{:016x}", hash_bytes(name.as_bytes()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bucket_leaves_the_folder() {
        let folder =
            |bucket: &str, nested| bucket_folder(Path::new("/out"), bucket, nested).display().to_string();
        assert_eq!(folder("", true), "/out");
        assert_eq!(folder("", false), "/out/%");
        assert_eq!(folder("dt=2013-01-01/hr=10", true), "/out/dt=2013-01-01/hr=10");
        assert_eq!(folder("a/b", false), "/out/a%2Fb");
        assert_eq!(folder("../../etc", true), "/out/%2E./%2E./etc");
        assert_eq!(folder("/etc//x/.", true), "/out/%/etc/%/x/%2E");
        assert_eq!(folder("_a\0\n\\b%2E", true), "/out/%5Fa%00%0A%5Cb%252E");
        assert_eq!(folder("Z\u{fc}rich", false), "/out/Z\u{fc}rich");
        let (long, longer) = (folder(&"\u{fc}".repeat(300), false), folder(&"\u{fc}".repeat(301), false));
        assert!(long != longer && long.len() < 220, "{long}");
    }

    #[test]
    fn hidden_names_tell_whose_they_are() {
        let names = |uid: &str| PartNames::new("part", "job", &OperatorUid::new(uid), "jsonl.gz".to_owned());
        let author =
            Author { subtask: SubtaskId::new(3, 4), generation: Generation(12), attempt: Attempt(2) };
        let path = PartPath { folder: PathBuf::from("/out"), name: names("a").name(author, 7) };
        assert!(path.name.starts_with("part-") && path.name.ends_with("-3-12-2-7.jsonl.gz"), "{}", path.name);
        let hidden = path.hidden();
        let hidden = hidden.file_name().unwrap().to_str().unwrap();
        assert_eq!(names("a").generation_of_hidden(hidden), Some(Generation(12)));
        assert_eq!(names("b").generation_of_hidden(hidden), None);
        assert_eq!(names("a").generation_of_hidden(&path.name), None);
        assert_eq!(names("a").generation_of_hidden(&hidden.replace("-12-", "-x-")), None);
    }
}
