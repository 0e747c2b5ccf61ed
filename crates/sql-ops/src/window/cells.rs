//! Which group of which pane each row of a batch belongs to.

use crate::aggregate::{AggState, LocalGroups, States};
use crate::row::{EncodedRows, RowBytes};
use crate::window::shape::Span;
use crate::window::time::Run;
use flugs_state::PaneTable;
use std::ops::Range;

/// State by pane and key.
pub(super) type Panes = PaneTable<RowBytes, Span, AggState>;

/// The groups of a batch's rows by pane and key, numbered pane by pane. Memory is used again from batch to batch.
#[derive(Default)]
pub(super) struct Cells {
    local: LocalGroups,
    /// The cell of each row that has one.
    pub(super) of_rows: Vec<u32>,
    pub(super) keys: Vec<RowBytes>,
    pub(super) hashes: Vec<u64>,
    /// The panes and their cells.
    pub(super) panes: Vec<(Span, Range<usize>)>,
    /// For each key of the batch the round in which it was met last, and its cell then.
    met: Vec<(u32, u32)>,
}

impl Cells {
    /// Numbers the cells of rows with these keys, which are of these panes; `runs` is sorted. Rows in no run have no cell.
    pub(super) fn assign(&mut self, encoded: &EncodedRows, runs: &mut [Run]) {
        self.local.assign(encoded);
        self.keys.clear();
        self.hashes.clear();
        self.panes.clear();
        self.of_rows.clear();
        let one_pane = runs.windows(2).all(|pair| pair[0].span == pair[1].span);
        let all_rows = runs.iter().map(|run| run.rows().len()).sum::<usize>() == encoded.len();
        match runs {
            [] => {}
            [first, ..] if one_pane && all_rows => {
                self.of_rows.extend_from_slice(self.local.of_rows());
                self.keys.extend(self.local.first_rows().iter().map(|row| encoded.to_key(*row as usize)));
                self.hashes.extend(self.local.first_rows().iter().map(|row| encoded.hash(*row as usize)));
                self.panes.push((first.span, 0..self.keys.len()));
            }
            runs => {
                runs.sort_by_key(|run| run.span);
                self.assign_runs(encoded, runs);
            }
        }
    }

    fn assign_runs(&mut self, encoded: &EncodedRows, runs: &[Run]) {
        self.of_rows.resize(encoded.len(), 0);
        self.met.clear();
        self.met.resize(self.local.len(), (0, 0));
        for (round, of_pane) in (1..).zip(runs.chunk_by(|a, b| a.span == b.span)) {
            let from = self.keys.len();
            for row in of_pane.iter().flat_map(Run::rows) {
                let met = &mut self.met[self.local.of_rows()[row] as usize];
                if met.0 != round {
                    *met = (round, self.keys.len() as u32);
                    self.keys.push(encoded.to_key(row));
                    self.hashes.push(encoded.hash(row));
                }
                self.of_rows[row] = met.1;
            }
            self.panes.push((of_pane[0].span, from..self.keys.len()));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Takes the cells' states out of the table, in order.
    pub(super) fn load(&self, panes: &mut Panes, states: &mut States) {
        for (span, cells) in &self.panes {
            let table = panes.pane_mut(*span);
            for block in cells.clone().step_by(BLOCK) {
                let block = block..cells.end.min(block + BLOCK);
                self.hashes[block.clone()].iter().for_each(|hash| table.prefetch(*hash));
                for cell in block {
                    let state =
                        table.get_or_insert_hashed(self.hashes[cell], &self.keys[cell], AggState::default);
                    states.load(state);
                }
            }
        }
    }

    /// Puts them back.
    pub(super) fn store(&self, panes: &mut Panes, states: &mut States) {
        for (span, cells) in &self.panes {
            let table = panes.pane_mut(*span);
            for block in cells.clone().step_by(BLOCK) {
                let block = block..cells.end.min(block + BLOCK);
                self.hashes[block.clone()].iter().for_each(|hash| table.prefetch(*hash));
                for cell in block {
                    let state =
                        table.get_or_insert_hashed(self.hashes[cell], &self.keys[cell], AggState::default);
                    states.store(cell, state);
                }
            }
        }
    }
}

/// Keys whose places are fetched together.
const BLOCK: usize = 64;
