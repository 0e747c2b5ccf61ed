//! State of a function that belongs to its subtask and not to keys: small lists, such as positions or rows that wait to be
//! handed on together.

use crate::function::Context;
use flugs_batch::Data;
use flugs_state::{ListTable, SnapshotTable, UnionListTable};
use std::any::Any;
use std::marker::PhantomData;

trait StateCell<T>: SnapshotTable {
    fn items(&self) -> &[T];
    fn items_mut(&mut self) -> &mut Vec<T>;
}

impl<T: Data> StateCell<T> for ListTable<T> {
    fn items(&self) -> &[T] {
        self.items()
    }

    fn items_mut(&mut self) -> &mut Vec<T> {
        self.items_mut()
    }
}

impl<T: Data> StateCell<T> for UnionListTable<T> {
    fn items(&self) -> &[T] {
        self.items()
    }

    fn items_mut(&mut self) -> &mut Vec<T> {
        self.items_mut()
    }
}

/// A list whose items' type only its handle knows.
trait AnyCell: Any + Send {
    fn table(&mut self) -> &mut dyn SnapshotTable;
}

struct Cell<T>(Box<dyn StateCell<T>>);

impl<T: Data> AnyCell for Cell<T> {
    fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut *self.0
    }
}

/// The operator states of a function.
#[derive(Default)]
pub(crate) struct OperatorStates(Vec<Box<dyn AnyCell>>);

impl OperatorStates {
    pub(crate) fn tables(&mut self) -> impl Iterator<Item = &mut dyn SnapshotTable> {
        self.0.iter_mut().map(|cell| cell.table())
    }

    pub(crate) fn list<T: Data>(&mut self, table: ListTable<T>) -> OperatorList<T> {
        self.push(Box::new(table))
    }

    pub(crate) fn union_list<T: Data>(&mut self, table: UnionListTable<T>) -> OperatorList<T> {
        self.push(Box::new(table))
    }

    fn push<T: Data>(&mut self, cell: Box<dyn StateCell<T>>) -> OperatorList<T> {
        self.0.push(Box::new(Cell(cell)));
        OperatorList { index: self.0.len() - 1, items: PhantomData }
    }
}

/// The handle of a list that belongs to a subtask.
pub struct OperatorList<T> {
    index: usize,
    items: PhantomData<fn() -> T>,
}

impl<T> Clone for OperatorList<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OperatorList<T> {}

impl<T: Data> OperatorList<T> {
    /// The items.
    pub fn items<'s>(&self, cx: &'s Context<'_>) -> &'s [T] {
        let cell = &*cx.states.0[self.index] as &dyn Any;
        cell.downcast_ref::<Cell<T>>().expect(OF_ITS_OWN).0.items()
    }

    /// The items, to be changed.
    pub fn items_mut<'s>(&self, cx: &'s mut Context<'_>) -> &'s mut Vec<T> {
        let cell = &mut *cx.states.0[self.index] as &mut dyn Any;
        cell.downcast_mut::<Cell<T>>().expect(OF_ITS_OWN).0.items_mut()
    }
}

const OF_ITS_OWN: &str = "a state handle is used in the function that opened it";
