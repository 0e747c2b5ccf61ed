//! Where records end.

use memchr::{memchr, memchr2};

/// How bytes are cut into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Each line is a record; `\n` or `\r\n` ends it. Any place after a line end is a place to start from.
    Lines,
    /// Records end with this byte, which is in none of them.
    Delimited(u8),
    /// As lines, but line breaks within quotes belong to the record. Where a record starts is known only from
    /// the beginning of the file.
    Quoted {
        /// Separates fields: a quote counts only at the start of one.
        delimiter: u8,
        /// Opens and closes a quoted field; doubled within one it stands for itself.
        quote: u8,
    },
}

impl Framing {
    /// Whether reading may start behind any line end.
    pub fn splits_anywhere(self) -> bool {
        matches!(self, Framing::Lines | Framing::Delimited(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// A quote was seen within a quoted field: it closes the field unless another follows.
    QuoteSeen,
}

/// Finds the ends of records in bytes that come piece by piece.
#[derive(Debug, Clone)]
pub struct Framer {
    framing: Framing,
    state: State,
}

impl Framer {
    /// A framer at the start of a record.
    pub fn new(framing: Framing) -> Self {
        Framer { framing, state: State::FieldStart }
    }

    /// Looks at `bytes`, which follow those of the last call, for the end of the present record: the index
    /// behind its line end. `None` says that all of `bytes` belong to the record, which goes on.
    pub fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.framing {
            Framing::Lines => memchr(b'\n', bytes).map(|i| i + 1),
            Framing::Delimited(end) => memchr(end, bytes).map(|i| i + 1),
            Framing::Quoted { delimiter, quote } => self.find_quoted_end(bytes, delimiter, quote),
        }
    }

    fn find_quoted_end(&mut self, bytes: &[u8], delimiter: u8, quote: u8) -> Option<usize> {
        let mut i = 0;
        while let Some(&byte) = bytes.get(i) {
            match self.state {
                State::Quoted => {
                    i += memchr(quote, &bytes[i..])?;
                    self.state = State::QuoteSeen;
                }
                State::Unquoted => {
                    i += memchr2(delimiter, b'\n', &bytes[i..])?;
                    self.state = State::FieldStart;
                    if bytes[i] == b'\n' {
                        return Some(i + 1);
                    }
                }
                State::FieldStart if byte == quote => self.state = State::Quoted,
                State::QuoteSeen if byte == quote => self.state = State::Quoted,
                State::FieldStart | State::QuoteSeen => {
                    self.state = State::Unquoted;
                    // The byte itself may end the field or the record.
                    continue;
                }
            }
            i += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(framing: Framing, pieces: &[&[u8]]) -> Vec<usize> {
        let mut framer = Framer::new(framing);
        let (mut found, mut base) = (Vec::new(), 0);
        for piece in pieces {
            let mut at = 0;
            while let Some(end) = framer.find_end(&piece[at..]) {
                at += end;
                found.push(base + at);
            }
            base += piece.len();
        }
        found
    }

    #[test]
    fn quotes_hide_line_breaks_only_at_the_start_of_a_field() {
        let csv = Framing::Quoted { delimiter: b',', quote: b'"' };
        assert_eq!(ends(csv, &[b"a,b\nc\n"]), [4, 6]);
        assert_eq!(ends(csv, &[b"a,\"x\ny\"\nc\n"]), [8, 10]);
        assert_eq!(ends(csv, &[b"a\"b\nc\"d\n"]), [4, 8], "a quote inside an unquoted field is a letter");
        assert_eq!(ends(csv, &[b"\"say \"\"hi\"\"\n\"\n"]), [14]);
        assert_eq!(ends(csv, &[b"\n\n"]), [1, 2]);
    }

    #[test]
    fn the_cut_of_the_input_does_not_matter() {
        let text = b"a,\"x\n\"\"y\",\n\"\"\"\n\"\nb,\"\"\n\n,\"q\n";
        for framing in
            [Framing::Lines, Framing::Delimited(b','), Framing::Quoted { delimiter: b',', quote: b'"' }]
        {
            let whole = ends(framing, &[text]);
            for i in 0..text.len() {
                for j in i..text.len() {
                    assert_eq!(
                        ends(framing, &[&text[..i], &text[i..j], &text[j..]]),
                        whole,
                        "cut at {i} and {j}"
                    );
                }
            }
        }
    }
}
