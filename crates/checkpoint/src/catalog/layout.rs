//! The paths of a job's files, made and read.

use bytes::Bytes;
use flugs_types::{Attempt, CheckpointId, Generation, OperatorUid, hash_bytes};

/// The name of a manifest within its folder.
pub(super) const MANIFEST: &str = "manifest";

const CLAIMS: &str = "generation";
const LATEST: &str = "latest";
const CHECKPOINT: &str = "chk-";
/// Longer names of jobs are cut, because file systems allow 255 bytes.
const JOB_BYTES_MAX: usize = 160;

/// The folder of a job: its name, with `=` and two hexadecimal digits for each byte that a file system or an object
/// store may not take. Different names never share one.
pub fn job_folder(job: &str) -> String {
    let mut folder = String::new();
    for (i, byte) in job.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => folder.push(char::from(byte)),
            b'.' if i > 0 => folder.push('.'),
            _ => folder.push_str(&format!("={byte:02x}")),
        }
    }
    if folder.is_empty() {
        folder.push('=');
    } else if folder.len() > JOB_BYTES_MAX {
        folder.truncate(JOB_BYTES_MAX);
        folder.push_str(&format!("=={:016x}", hash_bytes(job.as_bytes())));
    }
    folder
}

/// The path of the claim of a generation.
pub fn generation_path(job: &str, generation: Generation) -> String {
    format!("{}/{generation}", claims_folder(job))
}

pub(super) fn claims_folder(job: &str) -> String {
    format!("{}/{CLAIMS}", job_folder(job))
}

fn checkpoint_folder(job: &str, checkpoint: CheckpointId, generation: Generation) -> String {
    format!("{}/{CHECKPOINT}{:010}-{generation}", job_folder(job), checkpoint.0)
}

/// The path of a checkpoint's manifest.
pub fn manifest_path(job: &str, checkpoint: CheckpointId, generation: Generation) -> String {
    format!("{}/{MANIFEST}", checkpoint_folder(job, checkpoint, generation))
}

/// The path of the record of the newest checkpoint of a job.
pub fn latest_path(job: &str) -> String {
    format!("{}/{LATEST}", job_folder(job))
}

/// The record that names the checkpoint with this manifest: its folder and the CRC-32 of that, as a line.
pub(super) fn record_of(manifest_path: &str) -> Bytes {
    Bytes::from(record_line(manifest_path.split('/').nth(1).unwrap_or_default()))
}

fn record_line(folder: &str) -> String {
    format!("{folder} {:08x}\n", crc32fast::hash(folder.as_bytes()))
}

/// The checkpoint that a record names; `None` where it is damaged.
pub(super) fn recorded_in(record: &[u8]) -> Option<Folder> {
    let (folder, _) = std::str::from_utf8(record).ok()?.split_once(' ')?;
    if record_line(folder).as_bytes() == record { checkpoint_of(folder) } else { None }
}

/// The path for the state of a subtask of an operator. No two writers ever share one: the generation is unique to
/// a run of the job, the attempt to a try within it.
pub fn state_path(
    job: &str,
    checkpoint: CheckpointId,
    generation: Generation,
    uid: &OperatorUid,
    subtask: u32,
    attempt: Attempt,
) -> String {
    let uid = hash_bytes(uid.as_str().as_bytes());
    format!("{}/{uid:016x}-{subtask}-{attempt}.run", checkpoint_folder(job, checkpoint, generation))
}

/// Whose folder a file lies in. Ordered by age, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Folder {
    pub(super) generation: Generation,
    pub(super) checkpoint: CheckpointId,
}

/// The checkpoint in whose folder a file lies.
pub(super) fn folder_of(path: &str) -> Option<Folder> {
    let mut parts = path.split('/');
    let (_, folder, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    checkpoint_of(folder)
}

fn checkpoint_of(folder: &str) -> Option<Folder> {
    let (checkpoint, generation) = folder.strip_prefix(CHECKPOINT)?.split_once('-')?;
    Some(Folder {
        generation: Generation(number(generation)?),
        checkpoint: CheckpointId(number(checkpoint)?),
    })
}

/// The generation that a file claims.
pub(super) fn claim_of(path: &str) -> Option<Generation> {
    let mut parts = path.split('/');
    match (parts.next()?, parts.next()?, parts.next()?, parts.next()) {
        (_, CLAIMS, claim, None) => number(claim).map(Generation),
        _ => None,
    }
}

pub(super) fn is_manifest(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, name)| name == MANIFEST)
}

/// Whether a file is state that [`state_path`] named, by its name.
pub(super) fn is_state(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let parts = name.strip_suffix(".run").map(|name| name.split('-').collect::<Vec<_>>());
    let Some([uid, subtask, attempt]) = parts.as_deref() else { return false };
    let is_hash = uid.len() == 16 && uid.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash && number(subtask).is_some() && number(attempt).is_some()
}

fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_become_folders_that_no_two_share() {
        assert_eq!(job_folder("word-count_2.1"), "word-count_2.1");
        assert_eq!(job_folder("word count"), "word=20count");
        assert_eq!(job_folder("../x"), "=2e.=2fx");
        assert_eq!(job_folder("."), "=2e");
        assert_eq!(job_folder(""), "=");
        assert_eq!(job_folder("\u{fc}"), "=c3=bc");
        let (long, longer) = ("x".repeat(400), "x".repeat(401));
        assert!(job_folder(&long).len() < 200);
        let names = ["=", "", "=20", " ", "a=20", "a ", "=3d", long.as_str(), longer.as_str()];
        assert_eq!(names.iter().map(|n| job_folder(n)).collect::<HashSet<_>>().len(), names.len());
    }

    #[test]
    fn paths_are_read_back() {
        let folder = Folder { generation: Generation(3), checkpoint: CheckpointId(42) };
        let manifest = manifest_path("a b", CheckpointId(42), Generation(3));
        assert_eq!(manifest, "a=20b/chk-0000000042-3/manifest");
        assert!(is_manifest(&manifest));
        assert_eq!(folder_of(&manifest), Some(folder));
        let state = state_path("a b", CheckpointId(42), Generation(3), &OperatorUid::new("u"), 7, Attempt(2));
        assert!(state.starts_with("a=20b/chk-0000000042-3/") && state.ends_with("-7-2.run"), "{state}");
        assert!(!is_manifest(&state) && is_state(&state) && !is_state(&manifest));
        for other in ["j/chk-1-1/core", "j/chk-1-1/x-7-2.run", "j/chk-1-1/0123456789abcdef-7.run", "a.run"] {
            assert!(!is_state(other), "{other}");
        }
        assert_eq!(folder_of(&state), Some(folder));
        assert_eq!(claim_of(&generation_path("a b", Generation(12))), Some(Generation(12)));
        assert_eq!(latest_path("a b"), "a=20b/latest");
        let record = record_of(&manifest);
        assert!(
            record.starts_with(b"chk-0000000042-3 ") && record.len() == "chk-0000000042-3 01234567\n".len()
        );
        assert_eq!(recorded_in(&record), Some(folder));
        for i in 0..record.len() {
            let mut damaged = record.to_vec();
            damaged[i] ^= 1;
            assert_eq!((recorded_in(&damaged), recorded_in(&record[..i])), (None, None), "byte {i}");
        }
        let beyond = CheckpointId(99_999_999_999);
        assert_eq!(folder_of(&manifest_path("j", beyond, Generation(1))).map(|f| f.checkpoint), Some(beyond));
    }

    #[test]
    fn other_files_are_nobodys() {
        for path in [
            "j/chk-1/manifest",
            "j/chk-1-x/m",
            "j/chk-+1-1/m",
            "j/generation/+1",
            "j/generation/1/2",
            "j",
            "j/x/y",
            "",
        ] {
            assert_eq!((folder_of(path), claim_of(path)), (None, None), "{path}");
        }
    }
}
