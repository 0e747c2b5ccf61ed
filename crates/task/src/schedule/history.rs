//! What a simulation did: a hash over all of it, and the end of it in words.

use flugs_types::Timestamp;
use std::collections::VecDeque;
use std::fmt::Write;

/// How many events are kept to be shown.
const SHOWN: usize = 200;

/// Something that happened.
pub(super) enum Event {
    /// A task was stepped: the number of its cell.
    Step(usize),
    /// A timer of a task has fired.
    Timer(usize),
    /// Background work was done: its number.
    Work(u64),
    /// Whoever drives the simulation did something.
    Note(String),
}

/// See the module.
#[derive(Default)]
pub(super) struct History {
    hash: u64,
    last: VecDeque<(Timestamp, Event)>,
    /// By number of the cell.
    names: Vec<String>,
}

impl History {
    /// A number for a new cell.
    pub(super) fn new_cell(&mut self) -> usize {
        self.names.push(String::new());
        self.names.len() - 1
    }

    /// A task was put into a cell.
    pub(super) fn name(&mut self, cell: usize, name: String) {
        if let Some(known) = self.names.get_mut(cell) {
            *known = name;
        }
    }

    pub(super) fn add(&mut self, time: Timestamp, event: Event) {
        self.mix(time.0 as u64);
        match &event {
            Event::Step(cell) => self.mix(*cell as u64),
            Event::Timer(cell) => self.mix(1 << 32 | *cell as u64),
            Event::Work(number) => self.mix(1 << 48 | number),
            Event::Note(text) => text.bytes().for_each(|b| self.mix(u64::from(b))),
        }
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back((time, event));
    }

    /// One round of a multiplicative hash.
    fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// One line for each event, the oldest first.
    pub(super) fn shown(&self) -> String {
        let mut text = String::new();
        for (time, event) in &self.last {
            let name = |cell: &usize| self.names.get(*cell).map_or("", String::as_str);
            let _ = match event {
                Event::Step(cell) => writeln!(text, "{time}  step   #{cell} {}", name(cell)),
                Event::Timer(cell) => writeln!(text, "{time}  timer  #{cell} {}", name(cell)),
                Event::Work(number) => writeln!(text, "{time}  work   {number}"),
                Event::Note(note) => writeln!(text, "{time}  {note}"),
            };
        }
        text
    }
}
