//! A part of a file and the position in it.

use crate::codec;
use flugs_batch::Data;
use flugs_connector::Split;
use flugs_types::Result;

const VERSION: u8 = 1;

/// The records of a file that start in a range of bytes, and how far they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSplit {
    /// The file.
    pub(crate) path: String,
    /// First byte of the range.
    pub(crate) start: u64,
    /// One past the last byte; none for a compressed file, which is read to its end.
    pub(crate) end: Option<u64>,
    /// Where the next record starts, in uncompressed bytes.
    pub(crate) offset: u64,
    /// The number of the next line, counted from 1 at the start of the range.
    pub(crate) line: u64,
    /// Whether `offset` is at the start of a record. Not so before the first read of a range in the middle of a file,
    /// which begins by looking for one.
    pub(crate) aligned: bool,
}

impl FileSplit {
    /// An unread range.
    pub(crate) fn new(path: String, start: u64, end: Option<u64>) -> Self {
        FileSplit { path, start, end, offset: start, line: 1, aligned: start == 0 }
    }

    /// Its name, the same at each start over the same file.
    pub(crate) fn id(&self) -> String {
        match self.end {
            Some(end) => format!("{}#{}-{end}", self.path, self.start),
            None => format!("{}#{}-", self.path, self.start),
        }
    }

    /// Where the next record is, in words.
    pub(crate) fn position(&self) -> String {
        if self.start == 0 {
            format!("line {}, byte {}", self.line, self.offset)
        } else {
            format!("byte {}, line {} of the range", self.offset, self.line)
        }
    }

    /// The place of the next record for an error.
    pub(crate) fn place(&self) -> String {
        if self.start == 0 {
            format!("{}:{}", self.path, self.line)
        } else {
            format!("{}, byte {}", self.path, self.offset)
        }
    }

    pub(crate) fn to_split(&self) -> Split {
        let mut payload = codec::versioned(VERSION);
        self.path.encode(&mut payload);
        self.start.encode(&mut payload);
        self.end.unwrap_or(u64::MAX).encode(&mut payload);
        self.offset.encode(&mut payload);
        self.line.encode(&mut payload);
        u8::from(self.aligned).encode(&mut payload);
        Split { id: self.id(), payload }
    }

    pub(crate) fn of_payload(payload: &[u8]) -> Result<Self> {
        codec::decode("a file split", VERSION, payload, |input| {
            Ok(FileSplit {
                path: String::decode(input)?,
                start: u64::decode(input)?,
                end: Some(u64::decode(input)?).filter(|&end| end != u64::MAX),
                offset: u64::decode(input)?,
                line: u64::decode(input)?,
                aligned: u8::decode(input)? != 0,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_of_version_1_stay_readable() {
        let split =
            FileSplit { path: "a/b.txt".into(), start: 16, end: None, offset: 300, line: 2, aligned: true };
        let fixture = b"\x01\x07\0\0\0a/b.txt\x10\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
                        \x2c\x01\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01";
        assert_eq!(FileSplit::of_payload(fixture).unwrap(), split);
        assert_eq!(split.to_split().payload, fixture);
        assert!(FileSplit::of_payload(&fixture[..20]).is_err());
        assert!(FileSplit::of_payload(b"\x02").unwrap_err().to_string().contains("version 2"));
    }
}
