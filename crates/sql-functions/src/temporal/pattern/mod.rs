//! Patterns of Java for dates and times: `yyyy-MM-dd HH:mm:ss.SSS`.
//!
//! Flink formats timestamps with `java.time.format.DateTimeFormatter` and texts and Unix times with the older
//! `java.text.SimpleDateFormat`; the two read `S` and `u` differently, and the older one is lenient when it parses. A pattern
//! is compiled once; letters that mean nothing are an error that names them. Names are English.

mod format;
mod parse;

pub(crate) use format::Moment;
pub(crate) use parse::Parsed;

use flugs_types::{Error, Result};

/// Which of Java's two classes a pattern is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `DateTimeFormatter`: `DATE_FORMAT` and `TO_TIMESTAMP`.
    Formatter,
    /// `SimpleDateFormat`: `FROM_UNIXTIME`, `UNIX_TIMESTAMP`, `TO_DATE`, and `DATE_FORMAT` of strings.
    Simple,
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    dialect: Dialect,
    items: Vec<Item>,
    finest_ns: i64,
    needs_zone: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Literal(String),
    /// A number with the count of its letters.
    Number(Field, usize),
    /// A name: of a month, a day of the week, an era, half of a day.
    Name(Name, Width),
    /// Digits of the second's fraction.
    Fraction(usize),
    Offset(OffsetStyle),
    ZoneName,
    ZoneId,
    /// What stands in brackets: parsed where it is there.
    Optional(Vec<Item>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Year,
    YearOfEra,
    WeekYear,
    Quarter,
    Month,
    Day,
    DayOfYear,
    /// From Sunday, 1.
    DayOfWeek,
    /// From Monday, 1.
    IsoDayOfWeek,
    /// Which Tuesday of the month.
    WeekdayInMonth,
    WeekOfYear,
    WeekOfMonth,
    Hour,
    /// 1 to 24.
    HourFromOne,
    /// 1 to 12.
    HourOfHalf,
    /// 0 to 11.
    HourOfHalfFromZero,
    Minute,
    Second,
    Milli,
    Nano,
    MilliOfDay,
    NanoOfDay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Era,
    Month,
    DayOfWeek,
    HalfOfDay,
    Quarter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Short,
    Full,
    Narrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffsetStyle {
    /// `+08`, `+0830`.
    Hours { zulu: bool },
    /// `+0830`.
    Plain { zulu: bool },
    /// `+08:30`.
    Colon { zulu: bool },
    /// `GMT+8`.
    Gmt,
    /// `GMT+08:30`.
    GmtFull,
}

const SECOND_NS: i64 = 1_000_000_000;

impl Field {
    /// The longest time, in nanoseconds, that begins at a multiple of itself and in which the field does not change.
    fn finest_ns(self) -> i64 {
        match self {
            Field::Hour | Field::HourFromOne | Field::HourOfHalf | Field::HourOfHalfFromZero => {
                3600 * SECOND_NS
            }
            Field::Minute => 60 * SECOND_NS,
            Field::Second => SECOND_NS,
            Field::Milli | Field::MilliOfDay => 1_000_000,
            Field::Nano | Field::NanoOfDay => 1,
            _ => 86_400 * SECOND_NS,
        }
    }
}

impl Pattern {
    /// Compiles a pattern; an error names the letter that means nothing.
    pub(crate) fn compile(text: &str, dialect: Dialect) -> Result<Pattern> {
        let mut compiler =
            Compiler { text, dialect, stack: vec![Vec::new()], finest_ns: i64::MAX, needs_zone: false };
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => compiler.quoted(&mut chars)?,
                '[' if dialect == Dialect::Formatter => compiler.stack.push(Vec::new()),
                ']' if dialect == Dialect::Formatter => compiler.close()?,
                '{' | '}' | '#' if dialect == Dialect::Formatter => {
                    return Err(compiler.wrong(&format!("'{c}' means nothing in it")));
                }
                c if c.is_ascii_alphabetic() => {
                    let count = text[at..].chars().take_while(|other| *other == c).count();
                    for _ in 1..count {
                        chars.next();
                    }
                    compiler.letters(c, count)?;
                }
                c => compiler.literal(c),
            }
        }
        // Java takes brackets that are never closed as closed at the end.
        while compiler.stack.len() > 1 {
            compiler.close()?;
        }
        let items = compiler.stack.pop().unwrap_or_default();
        let finest_ns = compiler.finest_ns.min(86_400 * SECOND_NS);
        Ok(Pattern { dialect, items, finest_ns, needs_zone: compiler.needs_zone })
    }

    /// Local times in the same multiple of so many nanoseconds have the same text, unless it names the zone.
    pub(crate) fn finest_ns(&self) -> i64 {
        self.finest_ns
    }

    /// Whether the text says something of a zone.
    pub(crate) fn needs_zone(&self) -> bool {
        self.needs_zone
    }
}

struct Compiler<'a> {
    text: &'a str,
    dialect: Dialect,
    stack: Vec<Vec<Item>>,
    finest_ns: i64,
    needs_zone: bool,
}

impl Compiler<'_> {
    fn wrong(&self, why: &str) -> Error {
        Error::job(format!("'{}' is no pattern of dates and times: {why}", self.text))
            .mend("use letters such as yyyy-MM-dd HH:mm:ss.SSS and put other text in single quotes")
    }

    fn push(&mut self, item: Item) {
        if let Some(items) = self.stack.last_mut() {
            items.push(item);
        }
    }

    fn literal(&mut self, c: char) {
        if let Some(items) = self.stack.last_mut() {
            match items.last_mut() {
                Some(Item::Literal(text)) => text.push(c),
                _ => items.push(Item::Literal(c.to_string())),
            }
        }
    }

    fn close(&mut self) -> Result<()> {
        match self.stack.pop() {
            Some(items) if !self.stack.is_empty() => self.push(Item::Optional(items)),
            _ => return Err(self.wrong("']' closes nothing")),
        }
        Ok(())
    }

    /// Text in quotes; two quotes are one, inside and outside.
    fn quoted(&mut self, chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> Result<()> {
        if chars.next_if(|(_, c)| *c == '\'').is_some() {
            self.literal('\'');
            return Ok(());
        }
        while let Some((_, c)) = chars.next() {
            if c == '\'' && chars.next_if(|(_, c)| *c == '\'').is_none() {
                return Ok(());
            }
            self.literal(c);
        }
        Err(self.wrong("a quote is not closed"))
    }

    fn letters(&mut self, letter: char, count: usize) -> Result<()> {
        if count > 19 {
            return Err(self.wrong(&format!("{count} times '{letter}' are too many")));
        }
        let simple = self.dialect == Dialect::Simple;
        let width = match count {
            4 => Width::Full,
            5 if !simple => Width::Narrow,
            5.. if simple => Width::Full,
            _ => Width::Short,
        };
        let number = |field| Item::Number(field, count);
        let item = match letter {
            'G' => Item::Name(Name::Era, Width::Short),
            'y' => number(Field::YearOfEra),
            'u' if simple => number(Field::IsoDayOfWeek),
            'u' => number(Field::Year),
            'Y' => number(Field::WeekYear),
            'M' | 'L' if count <= 2 => number(Field::Month),
            'M' | 'L' => Item::Name(Name::Month, width),
            'd' => number(Field::Day),
            'D' => number(Field::DayOfYear),
            'E' => Item::Name(Name::DayOfWeek, width),
            'F' => number(Field::WeekdayInMonth),
            'w' => number(Field::WeekOfYear),
            'W' => number(Field::WeekOfMonth),
            'a' => Item::Name(Name::HalfOfDay, Width::Short),
            'H' => number(Field::Hour),
            'k' => number(Field::HourFromOne),
            'h' => number(Field::HourOfHalf),
            'K' => number(Field::HourOfHalfFromZero),
            'm' => number(Field::Minute),
            's' => number(Field::Second),
            'S' if simple => number(Field::Milli),
            'S' if count <= 9 => Item::Fraction(count),
            'z' => Item::ZoneName,
            'Z' if simple || count <= 3 => Item::Offset(OffsetStyle::Plain { zulu: false }),
            'X' => Item::Offset(self.offset(count, true)?),
            _ if simple => return Err(self.wrong(&format!("the letter '{letter}' means nothing in it"))),
            'Z' if count == 4 => Item::Offset(OffsetStyle::GmtFull),
            'Z' if count == 5 => Item::Offset(OffsetStyle::Colon { zulu: true }),
            'x' => Item::Offset(self.offset(count, false)?),
            'O' if count == 1 => Item::Offset(OffsetStyle::Gmt),
            'O' if count == 4 => Item::Offset(OffsetStyle::GmtFull),
            'V' if count == 2 => Item::ZoneId,
            'Q' | 'q' if count <= 2 => number(Field::Quarter),
            'Q' | 'q' => Item::Name(Name::Quarter, width),
            'e' | 'c' if count <= 2 => number(Field::DayOfWeek),
            'e' | 'c' => Item::Name(Name::DayOfWeek, width),
            'n' => number(Field::Nano),
            'A' => number(Field::MilliOfDay),
            'N' => number(Field::NanoOfDay),
            _ => {
                let letters = letter.to_string().repeat(count);
                return Err(self.wrong(&format!("'{letters}' means nothing in it")));
            }
        };
        self.note(&item);
        self.push(item);
        Ok(())
    }

    fn offset(&self, count: usize, zulu: bool) -> Result<OffsetStyle> {
        match count {
            1 => Ok(OffsetStyle::Hours { zulu }),
            2 => Ok(OffsetStyle::Plain { zulu }),
            3 => Ok(OffsetStyle::Colon { zulu }),
            _ => Err(self.wrong("an offset has one to three letters")),
        }
    }

    fn note(&mut self, item: &Item) {
        let finest = match item {
            Item::Number(field, _) => field.finest_ns(),
            Item::Name(Name::HalfOfDay, _) => 3600 * SECOND_NS,
            Item::Fraction(count) => 10i64.pow(9 - *count as u32),
            Item::Offset(_) | Item::ZoneName | Item::ZoneId => {
                self.needs_zone = true;
                // Clocks change at full minutes.
                60 * SECOND_NS
            }
            _ => return,
        };
        self.finest_ns = self.finest_ns.min(finest);
    }
}
