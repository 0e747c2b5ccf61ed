//! A manifest's file: a first line with the format's name and version, a body in JSON, a last line with the CRC-32 of all
//! bytes before it. To be read by people too: ids are numbers, times are RFC 3339, fingerprints are hexadecimal,
//! bytes are base64.
//!
//! The first and the last line stay as they are in all versions, so that a damaged file is told from a newer one.

use super::{Manifest, OperatorState, StateHandle, SubtaskState, base64};
use crate::Kind;
use bytes::Bytes;
use flugs_types::{CheckpointId, Error, Generation, OperatorUid, Result, Timestamp};
use serde::{Deserialize, Serialize};

/// The version of the manifest format that this build writes, and the highest that it reads.
pub const MANIFEST_VERSION: u32 = 1;

const MAGIC: &str = "flugs checkpoint manifest ";
const LAST_LINE: &str = "crc32 ";

impl Manifest {
    /// The manifest as a file.
    pub fn encode(&self) -> Bytes {
        let body =
            serde_json::to_string_pretty(&Body::of(self)).expect("a body of texts and numbers is valid JSON");
        let mut text = format!("{MAGIC}{MANIFEST_VERSION}\n{body}\n");
        text.push_str(&last_line(text.as_bytes()));
        Bytes::from(text)
    }

    /// Reads a manifest. `place` names the file in the error, which is of kind
    /// [`State`](flugs_types::ErrorKind::State) and says what is damaged and what to do.
    pub fn parse(bytes: &[u8], place: &str) -> Result<Self> {
        let body = body_of(bytes).map_err(|e| e.at(place))?;
        let manifest = serde_json::from_slice::<Body>(body)
            .map_err(|e| format!("its body cannot be read: {e}"))
            .and_then(Body::into_manifest)
            .and_then(|manifest| manifest.flaw().map_or(Ok(manifest), Err));
        manifest.map_err(|what| damaged(&what).at(place))
    }
}

fn damaged(what: &str) -> Error {
    Error::state(format!("the checkpoint's manifest is damaged: {what}"))
        .mend("restore from another checkpoint, or put an undamaged copy of this file in its place")
}

fn last_line(before: &[u8]) -> String {
    format!("{LAST_LINE}{:08x}\n", crc32fast::hash(before))
}

/// What stands between the first and the last line, both of which are checked.
fn body_of(bytes: &[u8]) -> Result<&[u8]> {
    if !bytes.starts_with(MAGIC.as_bytes()) {
        let what = if bytes.is_empty() { "it is empty" } else { "its first line is not that of a manifest" };
        return Err(damaged(what));
    }
    let last = bytes.len().saturating_sub(last_line(&[]).len());
    let (before, found) = bytes.split_at(last);
    if !found.starts_with(LAST_LINE.as_bytes()) || !found.ends_with(b"\n") || !before.ends_with(b"\n") {
        return Err(damaged("its end is missing (the last line, with the CRC-32)"));
    }
    if found != last_line(before).as_bytes() {
        return Err(damaged("its content does not have the CRC-32 that its last line says"));
    }
    let rest = &before[MAGIC.len()..];
    let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    let version = std::str::from_utf8(&rest[..end]).ok().and_then(|v| v.parse::<u32>().ok());
    match version {
        Some(1..=MANIFEST_VERSION) => Ok(&rest[end..]),
        Some(newer) if newer > MANIFEST_VERSION => Err(Error::state(format!(
            "the checkpoint's manifest has format version {newer}, and this build of Flugs reads versions up to {MANIFEST_VERSION}"
        ))
        .mend("use the version of Flugs that wrote it, or a newer one")),
        _ => Err(damaged("its first line has no version")),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    job: String,
    generation: u64,
    checkpoint: u64,
    kind: String,
    created: String,
    parent: Option<u64>,
    finished: bool,
    hashing: String,
    graph: String,
    operators: Vec<OperatorBody>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OperatorBody {
    uid: String,
    name: String,
    parallelism: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enumerator: Option<String>,
    subtasks: Vec<SubtaskBody>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubtaskBody {
    index: u32,
    finished: bool,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<StateBody>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StateBody {
    Inline(String),
    File(FileBody),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBody {
    path: String,
    bytes: u64,
    crc32: String,
}

impl Body {
    fn of(manifest: &Manifest) -> Self {
        Body {
            job: manifest.job.clone(),
            generation: manifest.generation.0,
            checkpoint: manifest.checkpoint.0,
            kind: manifest.kind.to_string(),
            created: time_text(manifest.created),
            parent: manifest.parent.map(|id| id.0),
            finished: manifest.finished,
            hashing: format!("{:016x}", manifest.hashing),
            graph: format!("{:016x}", manifest.graph),
            operators: manifest.operators.iter().map(OperatorBody::of).collect(),
        }
    }

    fn into_manifest(self) -> Result<Manifest, String> {
        let kind =
            [Kind::Checkpoint, Kind::Savepoint, Kind::Final].into_iter().find(|k| k.as_str() == self.kind);
        Ok(Manifest {
            job: self.job,
            generation: Generation(self.generation),
            checkpoint: CheckpointId(self.checkpoint),
            kind: kind.ok_or_else(|| format!("{:?} is no kind of checkpoint", self.kind))?,
            created: time(&self.created)?,
            parent: self.parent.map(CheckpointId),
            finished: self.finished,
            hashing: hex(&self.hashing, 16)?,
            graph: hex(&self.graph, 16)?,
            operators: self.operators.into_iter().map(OperatorBody::into_state).collect::<Result<_, _>>()?,
        })
    }
}

impl OperatorBody {
    fn of(operator: &OperatorState) -> Self {
        OperatorBody {
            uid: operator.uid.to_string(),
            name: operator.name.clone(),
            parallelism: operator.parallelism,
            enumerator: operator.enumerator.as_deref().map(base64::encode),
            subtasks: operator.subtasks.iter().map(SubtaskBody::of).collect(),
        }
    }

    fn into_state(self) -> Result<OperatorState, String> {
        let within = |e: String| format!("operator '{}': {e}", self.uid);
        Ok(OperatorState {
            uid: OperatorUid::new(&self.uid),
            name: self.name,
            parallelism: self.parallelism,
            enumerator: self.enumerator.map(|text| inline(&text)).transpose().map_err(within)?,
            subtasks: self
                .subtasks
                .into_iter()
                .map(SubtaskBody::into_state)
                .collect::<Result<_, _>>()
                .map_err(within)?,
        })
    }
}

impl SubtaskBody {
    fn of(subtask: &SubtaskState) -> Self {
        let state = subtask.state.as_ref().map(|state| match state {
            StateHandle::Inline(bytes) => StateBody::Inline(base64::encode(bytes)),
            StateHandle::File { path, bytes, crc32 } => {
                StateBody::File(FileBody { path: path.clone(), bytes: *bytes, crc32: format!("{crc32:08x}") })
            }
        });
        SubtaskBody { index: subtask.index, finished: subtask.finished, bytes: subtask.bytes, state }
    }

    fn into_state(self) -> Result<SubtaskState, String> {
        let state = match self.state {
            None => None,
            Some(StateBody::Inline(text)) => Some(StateHandle::Inline(inline(&text)?)),
            Some(StateBody::File(FileBody { path, bytes, crc32 })) => {
                let crc32 = u32::try_from(hex(&crc32, 8)?).expect("eight digits are 32 bits");
                Some(StateHandle::File { path, bytes, crc32 })
            }
        };
        Ok(SubtaskState { index: self.index, finished: self.finished, state, bytes: self.bytes })
    }
}

fn inline(text: &str) -> Result<Bytes, String> {
    base64::decode(text).map(Bytes::from).ok_or_else(|| "its inline bytes are no base64".to_owned())
}

fn hex(text: &str, digits: usize) -> Result<u64, String> {
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    let value = if plain { u64::from_str_radix(text, 16).ok() } else { None };
    value.ok_or_else(|| format!("{text:?} is no hexadecimal number of {digits} digits"))
}

/// RFC 3339, or plain microseconds for the times of which that cannot tell.
fn time_text(time: Timestamp) -> String {
    let text = time.to_string();
    if text.parse() == Ok(time) { text } else { time.0.to_string() }
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse::<Timestamp>().or_else(|e| text.parse().map(Timestamp).map_err(|_| e.to_string()))
}
