//! Random queries over random changelogs: a stream's result is that of the same query over the tables at rest.
//!
//! `FLUGS_RANDOM_CASES` is how many (500 where it is not set), `FLUGS_RANDOM_SEED` the first seed. A failure is made smaller, dropping
//! changes and parts of the query, and printed as a case file. `FLUGS_RANDOM_DUMP` names a folder to write all cases to, without
//! expectations, for `tests/golden/generate.py`.

#[allow(dead_code, reason = "the golden corpus uses more of it")]
#[path = "golden/harness/mod.rs"]
mod harness;
#[path = "random/relation.rs"]
mod relation;

use flugs_cluster::Runtime;
use flugs_sql_plan::{AggregatePhases, RuntimeMode};
use flugs_types::RowKind;
use harness::run::{Way, attempt};
use harness::table::InputTable;
use relation::{Rel, relation};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;

/// Steele and Vigna's splitmix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }
}

type Row = Vec<String>;

/// A change of a table.
#[derive(Debug, Clone)]
enum Event {
    Insert(Row),
    Delete(Row),
    Update(Row, Row),
}

fn row(draw: &mut Draw) -> Row {
    let number = |draw: &mut Draw| {
        if draw.percent(15) { "NULL".to_owned() } else { (draw.below(6) as i64 - 1).to_string() }
    };
    let (a, b) = (number(draw), number(draw));
    let c = draw.of(&["x", "y", "z", "NULL"]).to_string();
    vec![a, b, c]
}

fn events(draw: &mut Draw) -> Vec<Event> {
    let mut now: Vec<Row> = Vec::new();
    let mut all = Vec::new();
    for _ in 0..draw.below(14) {
        if now.is_empty() || draw.percent(55) {
            let new = row(draw);
            now.push(new.clone());
            all.push(Event::Insert(new));
            continue;
        }
        let old = now.swap_remove(draw.below(now.len()));
        if draw.percent(50) {
            all.push(Event::Delete(old));
        } else {
            let new = row(draw);
            now.push(new.clone());
            all.push(Event::Update(old, new));
        }
    }
    all
}

/// Rows that are only added, each with a time of its own, at most nine minutes behind one before it.
fn timed(draw: &mut Draw) -> Vec<Row> {
    let count = draw.below(12);
    let rows = (0..count).map(|n| {
        // Four minutes a row, and seconds that no other row has.
        let seconds = n * 240 + draw.below(9) * 60 + n;
        let mut row = row(draw);
        row.push(format!(
            "2024-01-01 {:02}:{:02}:{:02}",
            10 + seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ));
        row
    });
    rows.collect()
}

/// The rows that are left; none where a row is taken back that is not there.
fn folded(events: &[Event]) -> Option<Vec<Row>> {
    let mut now: Vec<Row> = Vec::new();
    for event in events {
        let (gone, come) = match event {
            Event::Insert(new) => (None, Some(new)),
            Event::Delete(old) => (Some(old), None),
            Event::Update(old, new) => (Some(old), Some(new)),
        };
        if let Some(old) = gone {
            now.swap_remove(now.iter().position(|row| row == old)?);
        }
        now.extend(come.cloned());
    }
    Some(now)
}

/// Rows, or an error.
type Found = Result<Vec<String>, String>;

/// How a trial went.
enum Verdict {
    /// Equal, or changes that make no sense.
    Fine,
    /// Refused, both times with this error.
    Refused(String),
    Wrong(String),
}

/// A query with its tables and the way in which it is run.
#[derive(Debug, Clone)]
struct Trial {
    tables: Vec<Vec<Event>>,
    /// The tables with times.
    timed: Vec<Vec<Row>>,
    query: Rel,
    way: Way,
}

impl Trial {
    fn of(seed: u64) -> Trial {
        let mut draw = Draw(seed);
        let tables = (0..3).map(|_| events(&mut draw)).collect();
        let depth = 1 + draw.below(3);
        let query = relation(&mut draw, depth);
        let mut way = Way {
            mode: RuntimeMode::Streaming,
            killed: false,
            parallelism: draw.of(&[1, 2, 4]),
            batch_rows: draw.of(&[1, 2, 100]),
            resume: draw.percent(35).then(|| draw.of(&[1, 2, 3])),
            phases: draw.of(&[AggregatePhases::One, AggregatePhases::Two, AggregatePhases::Auto]),
            bundle: draw.percent(30).then(|| draw.of(&[2, 5, 50])),
            buckets: if draw.percent(40) { NonZeroU32::new(draw.of(&[1, 2, 7])) } else { None },
        };
        way.killed = draw.percent(50);
        let timed = (0..2).map(|_| timed(&mut draw)).collect();
        Trial { tables, timed, query, way }
    }

    fn inputs(&self, at_rest: bool) -> Option<Vec<InputTable>> {
        let mut all = Vec::new();
        for (n, events) in self.tables.iter().enumerate() {
            let mut rows = Vec::new();
            let last = folded(events)?;
            if at_rest {
                rows.extend(last.into_iter().map(|row| (RowKind::Insert, row)));
            } else {
                for event in events {
                    match event.clone() {
                        Event::Insert(new) => rows.push((RowKind::Insert, new)),
                        Event::Delete(old) => rows.push((RowKind::Delete, old)),
                        Event::Update(old, new) => {
                            rows.extend([(RowKind::UpdateBefore, old), (RowKind::UpdateAfter, new)]);
                        }
                    }
                }
            }
            let mode = if at_rest { "append" } else { "retract" }.to_owned();
            let columns = "a INT, b INT, c STRING".to_owned();
            all.push(InputTable { name: format!("t{n}"), mode, single: false, columns, rows });
        }
        for (n, rows) in self.timed.iter().enumerate() {
            let rows = rows.iter().map(|row| (RowKind::Insert, row.clone())).collect();
            let columns =
                "a INT, b INT, c STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '10' MINUTE";
            let (name, mode, columns) = (format!("e{n}"), "append".to_owned(), columns.to_owned());
            all.push(InputTable { name, mode, single: false, columns, rows });
        }
        Some(all)
    }

    /// What the stream and the tables at rest give. None where the changes make no sense.
    fn run(&self, runtime: &Runtime) -> Option<(Found, Found)> {
        let run = |tables: &[InputTable], way: Way| {
            let declared = tables.iter().map(InputTable::declaration).collect::<Vec<_>>().join(";\n");
            let script = format!("{declared};\n{}", self.query.sql());
            attempt(tables, "UTC", way, &script, runtime).map(|outcome| outcome.rows)
        };
        let rest = Way::new(RuntimeMode::Batch, 1, 1000);
        let tables = self.inputs(true)?;
        let mut at_rest = run(&tables, rest);
        if at_rest.as_ref().is_err_and(|e| e.contains("batch mode")) {
            at_rest = run(&tables, Way { mode: RuntimeMode::Streaming, ..rest });
        }
        Some((run(&self.inputs(false)?, self.way), at_rest))
    }

    fn verdict(&self, runtime: &Runtime) -> Verdict {
        match self.run(runtime) {
            None => Verdict::Fine,
            Some((Ok(stream), Ok(rest))) if stream == rest => Verdict::Fine,
            Some((Ok(stream), Ok(rest))) => {
                Verdict::Wrong(format!("as a stream\n{}\nat rest\n{}", stream.join("\n"), rest.join("\n")))
            }
            // A bug is one both times.
            Some((Err(e), Err(other)))
                if e == other && !e.contains("PANIC") && !e.contains("internal error") =>
            {
                Verdict::Refused(e)
            }
            Some((stream, rest)) => Verdict::Wrong(format!("as a stream {stream:?}\nat rest {rest:?}")),
        }
    }

    fn fails(&self, runtime: &Runtime) -> Option<String> {
        match self.verdict(runtime) {
            Verdict::Wrong(why) => Some(why),
            _ => None,
        }
    }

    fn smaller(&self) -> Vec<Trial> {
        let mut all: Vec<Trial> =
            self.query.smaller().into_iter().map(|query| Trial { query, ..self.clone() }).collect();
        for (n, events) in self.tables.iter().enumerate() {
            if !events.is_empty() {
                let mut trial = self.clone();
                trial.tables[n].clear();
                all.push(trial);
            }
        }
        for (n, rows) in self.timed.iter().enumerate() {
            for at in 0..rows.len() {
                let mut trial = self.clone();
                trial.timed[n].remove(at);
                all.push(trial);
            }
        }
        for (n, events) in self.tables.iter().enumerate() {
            for at in 0..events.len() {
                let mut trial = self.clone();
                let gone = trial.tables[n].remove(at);
                // The row that is not there any more is not taken back.
                if let Event::Insert(row) | Event::Update(_, row) = &gone
                    && let Some(later) = trial.tables[n][at..].iter().position(|e| match e {
                        Event::Delete(old) | Event::Update(old, _) => old == row,
                        Event::Insert(_) => false,
                    })
                {
                    let later = at + later;
                    match (trial.tables[n][later].clone(), gone) {
                        (Event::Delete(_), Event::Update(old, _)) => {
                            trial.tables[n][later] = Event::Delete(old)
                        }
                        (Event::Update(_, new), Event::Update(old, _)) => {
                            trial.tables[n][later] = Event::Update(old, new);
                        }
                        (Event::Update(_, new), _) => trial.tables[n][later] = Event::Insert(new),
                        _ => drop(trial.tables[n].remove(later)),
                    }
                }
                all.push(trial);
            }
        }
        if self.way.resume.is_some() {
            all.push(Trial { way: Way { resume: None, ..self.way }, ..self.clone() });
        }
        if self.way.killed {
            all.push(Trial { way: Way { killed: false, ..self.way }, ..self.clone() });
        }
        if self.way.buckets.is_some() {
            all.push(Trial { way: Way { buckets: None, ..self.way }, ..self.clone() });
        }
        if self.way.parallelism > 1 {
            all.push(Trial { way: Way { parallelism: 1, ..self.way }, ..self.clone() });
        }
        all
    }

    /// The smallest trial that fails, as far as looking for it may take.
    fn shrunk(self, runtime: &Runtime) -> Trial {
        let (mut now, mut left) = (self, 400);
        'again: loop {
            for less in now.smaller() {
                left -= 1;
                if left == 0 {
                    return now;
                }
                if less.fails(runtime).is_some() {
                    now = less;
                    continue 'again;
                }
            }
            return now;
        }
    }

    /// A case file, without an expectation.
    fn file(&self, seed: u64) -> String {
        let mut text = String::new();
        for table in self.inputs(false).unwrap_or_default() {
            let _ = writeln!(text, "table {} {}\n  {}", table.name, table.mode, table.columns);
            for (kind, row) in table.rows {
                let _ = writeln!(text, "{kind} | {}", row.join(" | "));
            }
            text.push('\n');
        }
        let _ = write!(text, "case random_{seed}\nfrom: duckdb\n{}\nexpect\n\n", self.query.sql());
        text
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn a_stream_gives_what_its_table_gives() {
    let (cases, first) = (number("FLUGS_RANDOM_CASES", 500), number("FLUGS_RANDOM_SEED", 1));
    let dump = std::env::var_os("FLUGS_RANDOM_DUMP").map(std::path::PathBuf::from);
    let runtime = Runtime::with_workers(2);
    let mut failures = Vec::new();
    let mut refused: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    println!("seeds {first} to {}", first + cases - 1);
    for seed in first..first + cases {
        let trial = Trial::of(seed);
        if let Some(folder) = &dump {
            std::fs::write(folder.join(format!("random_{seed}.cases")), trial.file(seed))
                .expect("a case file");
        }
        match trial.verdict(&runtime) {
            Verdict::Fine => {}
            Verdict::Refused(why) => {
                refused.entry(why.lines().next().unwrap_or_default().to_owned()).or_default().push(seed);
            }
            Verdict::Wrong(_) => {
                let small = trial.shrunk(&runtime);
                let why = small.fails(&runtime).unwrap_or_else(|| "it fails at times".to_owned());
                let shown = format!("seed {seed}, {:?}\n{}{why}\n", small.way, small.file(seed));
                println!("{shown}");
                failures.push(shown);
                assert!(failures.len() < 8, "too many failures");
            }
        }
    }
    refused
        .iter()
        .for_each(|(why, seeds)| println!("{} refused, first seed {}: {why}", seeds.len(), seeds[0]));
    assert!(failures.is_empty(), "{} of {cases} failed:\n{}", failures.len(), failures.join("\n"));
}
