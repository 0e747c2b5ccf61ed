//! A system outside the job that takes transactions, as a sink: it outlives simulated processes and notes every breach
//! of the protocol.
//!
//! A transaction is open, then prepared for a checkpoint, then committed, and only then are its rows visible. At a
//! barrier a writer either prepares its transaction or, as a sink does that keeps files open, puts how far it has come into its
//! state; a restored writer goes on with a copy of what was there then. What is neither prepared nor resumed is never
//! seen.

use super::faults::{Fate, Faults, injected};
use super::store::FaultyStore;
use flugs_batch::{Record, Records};
use flugs_connector::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_task::Simulation;
use flugs_types::{CheckpointId, Error, Generation, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    Prepared(Generation, CheckpointId),
    Committed,
}

struct Transaction<T> {
    rows: Vec<T>,
    stage: Stage,
}

struct Ledger<T> {
    /// By number.
    transactions: Vec<Transaction<T>>,
    visible: Vec<T>,
}

/// See the module. Clones share the system.
pub struct External<T> {
    ledger: Arc<Mutex<Ledger<T>>>,
    faults: Faults,
    store: FaultyStore,
    simulation: Simulation,
}

impl<T> Clone for External<T> {
    fn clone(&self) -> Self {
        External {
            ledger: self.ledger.clone(),
            faults: self.faults.clone(),
            store: self.store.clone(),
            simulation: self.simulation.clone(),
        }
    }
}

impl<T: Record + Clone> External<T> {
    pub(super) fn new(faults: Faults, store: FaultyStore, simulation: Simulation) -> Self {
        let ledger = Ledger { transactions: Vec::new(), visible: Vec::new() };
        External { ledger: Arc::new(Mutex::new(ledger)), faults, store, simulation }
    }

    fn lock(&self) -> MutexGuard<'_, Ledger<T>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of all committed transactions.
    pub fn rows(&self) -> Vec<T> {
        self.lock().visible.clone()
    }

    fn begin(&self, rows: Vec<T>) -> usize {
        let transactions = &mut self.lock().transactions;
        transactions.push(Transaction { rows, stage: Stage::Open });
        transactions.len() - 1
    }

    /// What a transaction held when it had so many rows.
    fn prefix(&self, Position { transaction, rows }: Position) -> Vec<T> {
        let ledger = self.lock();
        let prefix = ledger.transactions.get(transaction).and_then(|t| t.rows.get(..rows)).map(<[T]>::to_vec);
        drop(ledger);
        prefix.unwrap_or_else(|| {
            self.faults.violation(format!("{rows} rows of transaction {transaction} are gone on"));
            Vec::new()
        })
    }

    fn append(&self, transaction: usize, rows: Vec<T>) {
        let mut ledger = self.lock();
        let transaction = &mut ledger.transactions[transaction];
        let open = transaction.stage == Stage::Open;
        transaction.rows.extend(rows);
        drop(ledger);
        if !open {
            self.faults.violation("rows were written to a transaction that is not open".to_owned());
        }
    }

    fn prepare(&self, transaction: usize, generation: Generation, checkpoint: CheckpointId) -> usize {
        let transaction = &mut self.lock().transactions[transaction];
        transaction.stage = Stage::Prepared(generation, checkpoint);
        transaction.rows.len()
    }

    fn commit(&self, number: usize) {
        let stage = self.lock().transactions.get(number).map(|t| t.stage);
        match stage {
            Some(Stage::Prepared(generation, checkpoint)) => {
                if !self.store.has_published(generation, checkpoint) {
                    self.faults.violation(format!(
                        "transaction {number} of run {generation} was committed, but its checkpoint {checkpoint} is not complete"
                    ));
                }
                let mut ledger = self.lock();
                let transaction = &mut ledger.transactions[number];
                transaction.stage = Stage::Committed;
                let rows = transaction.rows.clone();
                ledger.visible.extend(rows);
            }
            Some(Stage::Committed) => {}
            Some(Stage::Open) => {
                self.faults.violation(format!("transaction {number} was committed but not prepared"));
            }
            None => self.faults.violation(format!("transaction {number} was committed, but there is none")),
        }
    }
}

impl<T: Record + Clone> Sink for External<T> {
    type Item = T;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn writer(&self, context: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<T>>> {
        let mut rows = Vec::new();
        for state in restored {
            rows.extend(self.prefix(Position::decode(&state)?));
        }
        let open = (!rows.is_empty()).then(|| self.begin(rows));
        Ok(Box::new(Writer { system: self.clone(), generation: context.generation, open }))
    }
}

/// How far a transaction has come.
#[derive(Clone, Copy)]
struct Position {
    transaction: usize,
    rows: usize,
}

impl Position {
    fn encode(self) -> Vec<u8> {
        [self.transaction, self.rows].iter().flat_map(|n| (*n as u64).to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let number = |range: std::ops::Range<usize>| {
            let bytes = bytes.get(range).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
            bytes.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| Error::state("not a position"))
        };
        Ok(Position { transaction: number(0..8)?, rows: number(8..16)? })
    }
}

struct Writer<T> {
    system: External<T>,
    generation: Generation,
    open: Option<usize>,
}

impl<T: Record + Clone> Writer<T> {
    /// Makes a call of the system, which may fail before or after it took effect.
    fn call<R>(&self, what: &str, call: impl FnOnce() -> R) -> Result<R> {
        match self.system.faults.of_sink(what) {
            Fate::Done => return Ok(call()),
            Fate::Failed => {}
            Fate::FailedAfter | Fate::Late(_) => drop(call()),
        }
        Err(injected(what))
    }
}

impl<T: Record + Clone> SinkWriter<T> for Writer<T> {
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        let open = match self.open {
            Some(open) => open,
            None => *self.open.insert(self.system.begin(Vec::new())),
        };
        self.call("a write", || self.system.append(open, rows.values))
    }

    fn prepare(&mut self, checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        let Some(open) = self.open else { return Ok(Prepared::default()) };
        if !end && self.system.simulation.draw(3) == 0 {
            let rows = self.system.lock().transactions[open].rows.len();
            let state = vec![Position { transaction: open, rows }.encode()];
            return Ok(Prepared { committables: Vec::new(), state });
        }
        let rows = self.call("a prepare", || self.system.prepare(open, self.generation, checkpoint))?;
        self.open = None;
        let committable = Committable(Position { transaction: open, rows }.encode());
        Ok(Prepared { committables: vec![committable], state: Vec::new() })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        for Committable(bytes) in committables {
            let Position { transaction, .. } = Position::decode(&bytes)?;
            self.call("a commit", || self.system.commit(transaction))?;
        }
        Ok(())
    }
}
