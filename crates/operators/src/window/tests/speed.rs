//! Measures the operators' own cost a row. Ignored: it judges nothing. Run it with
//! `cargo test --release -p flugs-operators speed -- --ignored --nocapture`.

use super::aligned::us;
use super::harness::{Input, Subject};
use crate::window::*;
use flugs_batch::{Control, Push, Records};
use flugs_types::{Clock, SystemClock, Timestamp};

type Wide = (u64, u64);

fn measure<O>(name: &str, keys: u64, make: &dyn Fn() -> O)
where
    O: flugs_task::Operator<In = Records<Wide>, Out = Records<(u64, u64)>>,
{
    let input = Input { batches: |rows| vec![rows.into_iter().collect()], hash: |_: &Wide| 0 };
    let subject = Subject { make, input, ports: &[] };
    let mut link = subject.link().unwrap();
    let (batch_rows, batches) = (4096u64, 5000u64);
    // One million rows a second of event time; 5 s windows.
    let mut spent = std::time::Duration::ZERO;
    let mut x = 1u64;
    for batch in 0..batches {
        let rows: Records<Wide> = (0..batch_rows)
            .map(|n| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let time = (batch * batch_rows + n) as i64;
                (((x >> 33) % keys, 1), Timestamp(time))
            })
            .collect();
        let start = SystemClock.monotonic();
        let _ = link.push(rows).unwrap();
        if batch % 16 == 15 {
            let watermark = ((batch + 1) * batch_rows) as i64 - 1;
            let mut flow = link.control(Control::Watermark(Timestamp(watermark))).unwrap();
            while flow != flugs_batch::Flow::Ready {
                flow = link.resume().unwrap();
            }
        }
        spent += SystemClock.monotonic() - start;
    }
    let ns = spent.as_nanos() as f64 / (batch_rows * batches) as f64;
    eprintln!("{name}\t{keys} keys\t{ns:.1} ns/row");
}

#[test]
#[ignore = "measures and judges nothing"]
fn of_each_operator() {
    let sum = || crate::Sum::of(|r: &Wide| r.1);
    for keys in [1000, 1_000_000] {
        measure("tumbling 5 s", keys, &|| {
            WindowBuilder::new(|r: &Wide| r.0, TumblingEventTimeWindows::of(us(5_000_000)))
                .aggregate(sum(), |k: &u64, _, n: u64| (*k, n))
        });
        measure("sliding 5 s / 1 s", keys, &|| {
            WindowBuilder::new(|r: &Wide| r.0, SlidingEventTimeWindows::of(us(5_000_000), us(1_000_000)))
                .aggregate(sum(), |k: &u64, _, n: u64| (*k, n))
        });
        measure("sessions 10 ms", keys, &|| {
            WindowBuilder::new(|r: &Wide| r.0, EventTimeSessionWindows::with_gap(us(10_000)))
                .aggregate(sum(), |k: &u64, _, n: u64| (*k, n))
        });
    }
    measure("general tumbling 5 s", 1000, &|| {
        WindowBuilder::new(|r: &Wide| r.0, TumblingEventTimeWindows::of(us(5_000_000)))
            .trigger(EventTimeTrigger::new())
            .aggregate(sum(), |k: &u64, _, n: u64| (*k, n))
    });
}
