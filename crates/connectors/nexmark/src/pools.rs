//! The strings that events share: letters, channels and their urls, names, cities and states.

use crate::random::{Draws, Letters, below};
use crate::text::Span;
use std::fmt::Write;
use std::sync::Arc;

pub(crate) const CITIES: [&str; 10] = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
];
pub(crate) const STATES: [&str; 6] = ["AZ", "CA", "ID", "OR", "WA", "WY"];
const FIRST_NAMES: [&str; 11] =
    ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"];
const LAST_NAMES: [&str; 9] =
    ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"];
const HOT_CHANNELS: [&str; 4] = ["Google", "Facebook", "Baidu", "Apple"];

pub(crate) const NAMES: u64 = (FIRST_NAMES.len() * LAST_NAMES.len()) as u64;
pub(crate) const HOT: u64 = HOT_CHANNELS.len() as u64;
pub(crate) const COLD: u64 = 10_000;
/// How many letters come first in the arena.
pub(crate) const LETTERS: u64 = 1 << 20;

/// A channel and its url.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    pub(crate) name: Span,
    pub(crate) url: Span,
}

/// What all events of a seed share.
pub(crate) struct Pools {
    /// A megabyte of letters, then channels and urls.
    pub(crate) arena: Arc<str>,
    /// The four hot ones first.
    channels: Vec<Channel>,
    names: Vec<String>,
}

impl Pools {
    pub(crate) fn new(seed: u64) -> Self {
        let mut draws = Draws::of_pools(seed);
        let mut arena: String = (0..LETTERS).map(|_| char::from(b'a' + draws.below(26) as u8)).collect();
        let mut channels = Vec::with_capacity((HOT + COLD) as usize);
        for name in HOT_CHANNELS {
            let url = base_url(&mut draws);
            channels.push(Channel { name: append(&mut arena, name), url: append(&mut arena, &url) });
        }
        for i in 0..COLD as i32 {
            let mut url = base_url(&mut draws);
            if below(draws.next(), 10) > 0 {
                // As in Java, the absolute value of the least integer is itself.
                let id = i.reverse_bits().wrapping_abs();
                write!(url, "&channel_id={id}").expect("a string takes everything");
            }
            let name = append(&mut arena, &format!("channel-{i}"));
            channels.push(Channel { name, url: append(&mut arena, &url) });
        }
        let full = |first: &str| LAST_NAMES.map(|last| format!("{first} {last}"));
        Pools {
            arena: arena.into(),
            channels,
            names: FIRST_NAMES.iter().flat_map(|first| full(first)).collect(),
        }
    }

    #[inline(always)]
    pub(crate) fn str(&self, span: Span) -> &str {
        span.of(&self.arena)
    }

    /// A channel by number; the first four are hot.
    #[inline(always)]
    pub(crate) fn channel(&self, i: u64) -> Channel {
        self.channels[i as usize]
    }

    /// One of the 99 names of persons.
    #[inline(always)]
    pub(crate) fn name(&self, i: u64) -> &str {
        &self.names[i as usize]
    }
}

fn append(arena: &mut String, text: &str) -> Span {
    let start = arena.len() as u32;
    arena.push_str(text);
    Span { start, len: text.len() as u32 }
}

fn base_url(draws: &mut Draws) -> String {
    let mut url = String::from("https://www.nexmark.com/");
    for _ in 0..3 {
        let mut word = Letters::<4>::new();
        draws.word(&mut word, 5, b'_');
        url.push_str(&word);
        url.push('/');
    }
    url + "item.htm?query=1"
}
