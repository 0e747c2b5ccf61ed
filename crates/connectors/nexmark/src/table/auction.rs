//! Auctions, row by row: of 50 events three are auctions.

use super::columns::{Columns, Run};
use super::kind::auction::{
    CATEGORY, DESCRIPTION, EXPIRES, EXTRA, ID, INITIAL_BID, ITEM, RESERVE, SELLER, TIME,
};
use super::texts::SharedTexts;
use crate::generator::Generator;
use crate::raw::{CYCLE, Cycle, RawAuction};

const MICROS_PER_MS: i64 = 1000;

/// Adds the rows of a run.
pub(super) fn fill(run: &Run, generator: &Generator, texts: &SharedTexts, out: &mut Columns) {
    let cycle = Cycle::new(run.ids.start / CYCLE);
    for (id, row) in run.ids.clone().zip(run.row..) {
        let base = generator.base(id, generator.time_ms(id));
        let raw = RawAuction { base, cycle };
        out.put_long(ID, row, || raw.id() as i64);
        out.put_long(INITIAL_BID, row, || raw.initial_bid() as i64);
        out.put_long(TIME, row, || base.time_ms);
        out.put_long(EXPIRES, row, || raw.expires().0 / MICROS_PER_MS);
        out.put_long(SELLER, row, || raw.seller() as i64);
        out.put_long(CATEGORY, row, || raw.category() as i64);
        if !out.wants(&[ITEM, DESCRIPTION, RESERVE, EXTRA]) {
            continue;
        }
        let made = raw.texts();
        out.put_text(ITEM, row, made.item_name());
        out.put_text(DESCRIPTION, row, made.description());
        out.put_long(RESERVE, row, || made.reserve() as i64);
        out.put_view(EXTRA, row, || texts.view(made.extra_span()));
    }
}
