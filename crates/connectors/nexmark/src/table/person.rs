//! Persons, row by row: of 50 events one is a person.

use super::columns::{Columns, Run};
use super::kind::person::{CARD, CITY, EMAIL, EXTRA, ID, NAME, STATE, TIME};
use super::texts::SharedTexts;
use crate::generator::Generator;
use crate::raw::{CYCLE, Cycle, RawPerson};

/// Adds the rows of a run.
pub(super) fn fill(run: &Run, generator: &Generator, texts: &SharedTexts, out: &mut Columns) {
    for (id, row) in run.ids.clone().zip(run.row..) {
        let base = generator.base(id, generator.time_ms(id));
        let raw = RawPerson { base, cycle: Cycle::new(id / CYCLE) };
        out.put_long(ID, row, || raw.id() as i64);
        out.put_long(TIME, row, || base.time_ms);
        out.put_view(NAME, row, || texts.names[raw.name_index()]);
        if !out.wants(&[EMAIL, CARD, CITY, STATE, EXTRA]) {
            continue;
        }
        let details = raw.details();
        out.put_text(EMAIL, row, details.email_address());
        if out.wants(&[CARD]) {
            out.put_text(CARD, row, &details.credit_card());
        }
        out.put_view(CITY, row, || texts.cities[details.city_index()]);
        out.put_view(STATE, row, || texts.states[details.state_index()]);
        out.put_view(EXTRA, row, || texts.view(details.extra_span()));
    }
}
