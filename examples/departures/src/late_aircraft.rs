//! Alerts on aircraft that leave more than an hour late three times in a row: a process function with keyed state and
//! timers.
//!
//! Departures of an aircraft arrive in order of leaving and are taken in order of schedule: each waits in state until
//! event time has come to its schedule, and a timer takes it out.

use crate::records::{Alert, Departure};
use flugs::operators::{Collector, KeyedContext, KeyedProcessFunction, OpenKeyed, Timer};
use flugs::state::{MapState, ValueState};
use flugs::{Data, Result, Timestamp};
use std::time::Duration;

/// A departure more than this late, in minutes, counts.
const LATE_MINUTES: i32 = 60;
/// So many in a row raise an alert.
const IN_A_ROW: usize = 3;
/// After so long without a late departure the count starts anew.
const FORGET_AFTER: Duration = Duration::from_secs(36 * 3600);

/// Late departures in a row.
#[derive(Debug, Clone, Default, Data)]
struct Row {
    flight_ids: Vec<u64>,
    last: Timestamp,
}

/// See the module. Keyed by tail number.
pub struct LateAircraft {
    /// Departures whose schedule event time has not come to, by schedule and flight: whether they were late.
    waiting: MapState<(Timestamp, u64), bool>,
    row: ValueState<Row>,
}

impl LateAircraft {
    /// For a subtask that opens.
    pub fn new(open: &mut OpenKeyed<'_, '_, String>) -> Result<Self> {
        Ok(LateAircraft { waiting: open.map("waiting")?, row: open.value("row")? })
    }
}

impl KeyedProcessFunction for LateAircraft {
    type Key = String;
    type In = Departure;
    type Out = Alert;

    fn process(
        &mut self,
        departure: Departure,
        cx: &mut KeyedContext<'_, String>,
        _: &mut Collector<'_, Alert>,
    ) -> Result<()> {
        self.waiting.put(cx, (departure.scheduled, departure.flight_id), departure.dep_delay > LATE_MINUTES);
        cx.register_event_time_timer(departure.scheduled);
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, String>,
        out: &mut Collector<'_, Alert>,
    ) -> Result<()> {
        let LateAircraft { waiting, row } = self;
        if row.get(cx).is_some_and(|r| r.last + FORGET_AFTER <= timer.time) {
            row.clear(cx);
        }
        let due: Vec<(u64, bool)> = waiting
            .iter(cx)
            .filter(|((at, _), _)| *at == timer.time)
            .map(|((_, id), late)| (*id, *late))
            .collect();
        for (flight_id, late) in due {
            waiting.remove(cx, &(timer.time, flight_id));
            if !late {
                row.clear(cx);
                continue;
            }
            let mut now = row.get(cx).cloned().unwrap_or_default();
            now.flight_ids.push(flight_id);
            now.last = timer.time;
            if now.flight_ids.len() == IN_A_ROW {
                row.clear(cx);
                let tailnum = cx.key().clone();
                out.collect(Alert { tailnum, flight_ids: now.flight_ids, at: timer.time });
            } else {
                row.set(cx, now);
                cx.register_event_time_timer(timer.time + FORGET_AFTER);
            }
        }
        Ok(())
    }
}
