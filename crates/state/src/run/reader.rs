//! Reading a run.

use super::writer::kind_tag;
use super::{END, INDEX_LINE, MAGIC, TAIL};
use crate::snapshot::{StateKind, StateSchema};
use bytes::Bytes;
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_types::{Error, KEY_GROUPS, KeyGroupRange, Result, SubtaskId, fingerprint_of_hashing};

/// An opened run.
#[derive(Debug)]
pub struct RunReader {
    bytes: Bytes,
    place: String,
    uid: String,
    subtask: SubtaskId,
    fingerprint: u64,
    sections: Vec<Section>,
}

/// One table of a run.
#[derive(Debug)]
pub struct Section {
    name: String,
    schema: StateSchema,
    blocks: Vec<BlockIndex>,
}

#[derive(Debug)]
struct BlockIndex {
    start: usize,
    end: usize,
    entries: u32,
    groups: KeyGroupRange,
    crc: u32,
}

/// Entries of a section whose checksum fits: for each its key, then its value.
#[derive(Debug)]
pub struct Block<'a> {
    /// The bytes of all entries.
    pub bytes: &'a [u8],
    /// How many there are.
    pub entries: u32,
    /// The key groups that they span.
    pub groups: KeyGroupRange,
    /// The number of the block in its section.
    pub index: usize,
}

impl Section {
    /// The state's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    pub fn schema(&self) -> &StateSchema {
        &self.schema
    }

    /// How many entries there are.
    pub fn entries(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.entries)).sum()
    }

    /// How many bytes its entries have.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|b| (b.end - b.start) as u64).sum()
    }
}

impl RunReader {
    /// Opens the file; `place` names it in errors.
    ///
    /// Fails with an error of state where it is no run, of an unknown version, or damaged.
    pub fn open(bytes: Bytes, place: &str) -> Result<Self> {
        Self::parse(&bytes, place).map_err(|why| damaged(&why, place))
    }

    fn parse(bytes: &Bytes, place: &str) -> Result<Self, String> {
        let version = MAGIC.len() - 1;
        match bytes.get(..MAGIC.len()) {
            Some(magic) if magic == MAGIC => {}
            Some(magic) if magic[..version] == MAGIC[..version] => {
                return Err(format!(
                    "its version is {}, this build reads version {}",
                    magic[version], MAGIC[version]
                ));
            }
            _ => return Err("it does not begin as a file of state".to_owned()),
        }
        let tail_at = bytes.len().checked_sub(TAIL).filter(|&at| at >= MAGIC.len()).ok_or("it is cut off")?;
        let mut tail = Reader::new(&bytes[tail_at..]);
        let broken = |e: DecodeError| format!("its footer cannot be read: {e}");
        let footer_len = u64::decode(&mut tail).map_err(broken)?;
        let crc = u32::decode(&mut tail).map_err(broken)?;
        if tail.take(END.len()).map_err(broken)? != END {
            return Err("it is cut off or its end is overwritten".to_owned());
        }
        let footer_at = usize::try_from(footer_len)
            .ok()
            .and_then(|n| tail_at.checked_sub(n))
            .filter(|&at| at >= MAGIC.len())
            .ok_or("its footer is longer than the file")?;
        let footer = &bytes[footer_at..tail_at];
        if crc32fast::hash(footer) != crc {
            return Err("the checksum of its footer does not fit".to_owned());
        }
        let mut input = Reader::new(footer);
        let uid = String::decode(&mut input).map_err(broken)?;
        let (index, parallelism) =
            (u32::decode(&mut input).map_err(broken)?, u32::decode(&mut input).map_err(broken)?);
        if index >= parallelism {
            return Err(format!("it claims to be of subtask {index} of {parallelism}"));
        }
        let fingerprint = u64::decode(&mut input).map_err(broken)?;
        let count = input.length(1).map_err(broken)?;
        let sections =
            (0..count).map(|_| section(&mut input)).collect::<Result<Vec<_>, _>>().map_err(broken)?;
        input.finish().map_err(broken)?;
        check_cover(&sections, footer_at)?;
        Ok(RunReader {
            bytes: bytes.clone(),
            place: place.to_owned(),
            uid,
            subtask: SubtaskId { index, parallelism },
            fingerprint,
            sections,
        })
    }

    /// The operator whose state this is.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The subtask whose state this is.
    pub fn subtask(&self) -> SubtaskId {
        self.subtask
    }

    /// What names the file in errors.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether keys hash in this build as they did when the file was written. If not, entries can stand in any key group.
    pub fn hashes_as_now(&self) -> bool {
        self.fingerprint == fingerprint_of_hashing()
    }

    /// The tables, in the order in which they were written.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The table of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// The blocks of a section that may have entries of these key groups, ordered by key group. Entries of other groups
    /// can stand in them too. A block whose checksum does not fit is an error that names it.
    pub fn blocks<'a>(
        &'a self,
        section: &'a Section,
        groups: KeyGroupRange,
    ) -> impl Iterator<Item = Result<Block<'a>>> + 'a {
        section.blocks.iter().enumerate().filter(move |(_, b)| b.groups.intersects(groups)).map(
            move |(index, b)| {
                let bytes = &self.bytes[b.start..b.end];
                if crc32fast::hash(bytes) != b.crc {
                    return Err(self.damaged_block(section, index, "its checksum does not fit"));
                }
                Ok(Block { bytes, entries: b.entries, groups: b.groups, index })
            },
        )
    }

    /// The error for a block that cannot be read.
    pub(crate) fn damaged_block(&self, section: &Section, index: usize, why: &str) -> Error {
        damaged(&format!("block {index} of state '{}': {why}", section.name), &self.place)
    }
}

fn damaged(why: &str, place: &str) -> Error {
    Error::state(format!("the file of state is damaged: {why}"))
        .at(place)
        .mend("restore from another checkpoint or a copy of this one")
}

fn section(input: &mut Reader<'_>) -> Result<Section, DecodeError> {
    let name = String::decode(input)?;
    let [tag] = input.array()?;
    let kind = [
        StateKind::Keyed,
        StateKind::KeyedPanes,
        StateKind::Timers,
        StateKind::List,
        StateKind::UnionList,
        StateKind::Broadcast,
    ]
    .into_iter()
    .find(|&kind| kind_tag(kind) == tag)
    .ok_or_else(|| DecodeError::new(format!("{tag} is no kind of state")))?;
    let schema = StateSchema { kind, key: Schema::decode(input)?, value: Schema::decode(input)? };
    let count = input.length(INDEX_LINE)?;
    let blocks = (0..count).map(|_| block_index(input)).collect::<Result<Vec<_>, _>>()?;
    Ok(Section { name, schema, blocks })
}

fn block_index(input: &mut Reader<'_>) -> Result<BlockIndex, DecodeError> {
    let (offset, len) = (u64::decode(input)?, u64::decode(input)?);
    let entries = u32::decode(input)?;
    let (first, last) = (u16::decode(input)?, u16::decode(input)?);
    let crc = u32::decode(input)?;
    let bounds = offset
        .checked_add(len)
        .and_then(|end| Some((usize::try_from(offset).ok()?, usize::try_from(end).ok()?)));
    let (start, end) = bounds.ok_or_else(|| DecodeError::new("a block lies outside the file"))?;
    let groups = KeyGroupRange { start: u32::from(first), end: u32::from(last) + 1 };
    if groups.start >= groups.end || groups.end > KEY_GROUPS {
        return Err(DecodeError::new(format!("a block spans the key groups {first}..={last}")));
    }
    Ok(BlockIndex { start, end, entries, groups, crc })
}

/// Every byte between the magic and the footer belongs to one block.
fn check_cover(sections: &[Section], footer_at: usize) -> Result<(), String> {
    let mut spans: Vec<_> = sections.iter().flat_map(|s| &s.blocks).map(|b| (b.start, b.end)).collect();
    spans.sort_unstable();
    let mut at = MAGIC.len();
    for (start, end) in spans {
        if start != at {
            return Err(format!("its blocks overlap or leave a gap at byte {at}"));
        }
        at = end;
    }
    if at != footer_at {
        return Err(format!("its blocks end at byte {at} and its footer begins at byte {footer_at}"));
    }
    Ok(())
}
