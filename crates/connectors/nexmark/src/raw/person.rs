//! Persons. Order of draws: name, the letters of the email address, four groups of the credit card, city, state, two
//! for the filler.

use super::{Base, Cycle, FIRST_ID, filler};
use crate::generator::Generator;
use crate::pools::{CITIES, NAMES, STATES};
use crate::random::{Draws, Letters, below};
use crate::text::Span;
use flugs_types::Timestamp;

const CARD_GROUPS: u64 = 4;
/// The bytes of a person beside the texts.
const SIZE: u64 = 8;
const AVERAGE_SIZE: u64 = 200;

/// A person whose fields are computed when they are asked for.
#[derive(Clone, Copy)]
pub struct RawPerson<'a> {
    pub(crate) base: Base<'a>,
    pub(crate) cycle: Cycle,
}

impl<'a> RawPerson<'a> {
    /// Id of the person; ids count up from 1000.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        FIRST_ID + self.cycle.number
    }

    /// First and last name.
    #[inline(always)]
    pub fn name(&self) -> &'a str {
        self.base.generator.pools.name(self.name_index() as u64)
    }

    #[inline(always)]
    pub(crate) fn name_index(&self) -> usize {
        below(self.base.draws.peek(0), NAMES) as usize
    }

    /// When the person registered.
    #[inline(always)]
    pub fn date_time(&self) -> Timestamp {
        Timestamp::from_millis(self.base.time_ms)
    }

    /// What takes a loop over letters: the email address, and what comes after it.
    #[inline]
    pub fn details(&self) -> PersonDetails<'a> {
        let mut draws = self.base.draws.skip(1);
        let mut email = Letters::new();
        draws.word(&mut email, 7, b' ');
        email.push(b'@');
        draws.word(&mut email, 5, b' ');
        b".com".iter().for_each(|&letter| email.push(letter));
        PersonDetails { generator: self.base.generator, name_bytes: self.name().len(), email, draws }
    }
}

/// The email address of a person, and what comes after it.
#[derive(Clone)]
pub struct PersonDetails<'a> {
    generator: &'a Generator,
    name_bytes: usize,
    email: Letters<15>,
    /// Behind the email address.
    draws: Draws,
}

impl<'a> PersonDetails<'a> {
    /// The email address.
    #[inline]
    pub fn email_address(&self) -> &str {
        &self.email
    }

    /// Four groups of four digits.
    pub fn credit_card(&self) -> Letters<19> {
        let mut card = Letters::new();
        for group in 0..CARD_GROUPS {
            if group > 0 {
                card.push(b' ');
            }
            let digits = below(self.draws.peek(group), 10_000);
            for unit in [1000, 100, 10, 1] {
                card.push(b'0' + (digits / unit % 10) as u8);
            }
        }
        card
    }

    /// One of ten cities.
    #[inline(always)]
    pub fn city(&self) -> &'static str {
        CITIES[self.city_index()]
    }

    #[inline(always)]
    pub(crate) fn city_index(&self) -> usize {
        below(self.draws.peek(CARD_GROUPS), CITIES.len() as u64) as usize
    }

    /// One of six states, whether or not the city is in it.
    #[inline(always)]
    pub fn state(&self) -> &'static str {
        STATES[self.state_index()]
    }

    #[inline(always)]
    pub(crate) fn state_index(&self) -> usize {
        below(self.draws.peek(CARD_GROUPS + 1), STATES.len() as u64) as usize
    }

    /// Filler: brings the person to about 200 bytes.
    #[inline]
    pub fn extra(&self) -> &'a str {
        let pools = &self.generator.pools;
        pools.str(self.extra_span())
    }

    #[inline]
    pub(crate) fn extra_span(&self) -> Span {
        const CARD_BYTES: usize = 19;
        let texts = self.name_bytes + self.email.len() + CARD_BYTES + self.city().len() + self.state().len();
        filler(self.draws.skip(CARD_GROUPS + 2), SIZE + texts as u64, AVERAGE_SIZE)
    }
}
