//! What window functions give to side outputs, until it is handed on.

use crate::OutputTag;
use flugs_batch::Records;
use flugs_task::Output;
use flugs_types::{Error, Result, Timestamp};
use std::any::{Any, type_name};

/// Rows for the side outputs of an operator whose main output carries `O`, by port.
pub(crate) struct SideRows<O> {
    ports: Vec<Option<Box<dyn Port<O>>>>,
    rows: usize,
    failure: Option<Error>,
}

trait Port<O>: Any + Send {
    fn hand_on(&mut self, port: usize, out: &mut Output<Records<O>>) -> Result<()>;
}

impl<O: 'static, S: Send + 'static> Port<O> for Records<S> {
    fn hand_on(&mut self, port: usize, out: &mut Output<Records<O>>) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        out.push_side(port, std::mem::take(self)).map(|_| ())
    }
}

impl<O> Default for SideRows<O> {
    fn default() -> Self {
        SideRows { ports: Vec::new(), rows: 0, failure: None }
    }
}

impl<O: 'static> SideRows<O> {
    /// How many rows wait.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub(crate) fn push<S: Send + 'static>(&mut self, tag: OutputTag<S>, row: S, time: Timestamp) {
        let port = tag.port();
        if self.ports.len() <= port {
            self.ports.resize_with(port + 1, || None);
        }
        self.rows += 1;
        let rows = self.ports[port].get_or_insert_with(|| Box::new(Records::<S>::new()));
        match (rows.as_mut() as &mut dyn Any).downcast_mut::<Records<S>>() {
            Some(rows) => rows.push(row, time),
            None => {
                let text =
                    format!("side output {port} is given {} and rows of another type", type_name::<S>());
                let mend = "give each side output of an operator a tag of its own";
                self.failure.get_or_insert_with(|| Error::job(text).mend(mend));
            }
        }
    }

    /// Hands on all rows.
    pub(crate) fn hand_on(&mut self, out: &mut Output<Records<O>>) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut ports = self.ports.iter_mut().enumerate();
        ports.try_for_each(|(port, rows)| rows.as_mut().map_or(Ok(()), |rows| rows.hand_on(port, out)))
    }
}
