//! Random queries over random changelogs: a stream's result is that of the same query over the tables at rest.
//!
//! `FLUGS_RANDOM_CASES` is how many (500 where it is not set), `FLUGS_RANDOM_SEED` the first seed. A failure is made smaller, dropping
//! changes and parts of the query, and printed as a case file. `FLUGS_RANDOM_DUMP` names a folder to write all cases to, without
//! expectations, for `tests/golden/generate.py`.

#[allow(dead_code, reason = "the golden corpus uses more of it")]
#[path = "golden/harness/mod.rs"]
mod harness;

use flugs_cluster::Runtime;
use flugs_sql_plan::{AggregatePhases, RuntimeMode};
use flugs_types::RowKind;
use harness::run::{Way, attempt};
use harness::table::InputTable;
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

/// A relation with the columns `a INT, b INT, c STRING`.
#[derive(Debug, Clone)]
enum Rel {
    Table(usize),
    Filter(Box<Rel>, String),
    Project(Box<Rel>, &'static str),
    Distinct(Box<Rel>),
    Join { kind: &'static str, left: Box<Rel>, right: Box<Rel>, on: &'static str },
    Aggregate { input: Box<Rel>, of: &'static str, having: Option<&'static str> },
    Global(Box<Rel>, &'static str),
    Set { op: &'static str, left: Box<Rel>, right: Box<Rel> },
    Within { input: Box<Rel>, of: Box<Rel>, test: &'static str },
    Scalar { input: Box<Rel>, of: Box<Rel>, test: &'static str },
    Top { input: Box<Rel>, order: &'static str, count: usize },
}

const PREDICATES: &[&str] = &[
    "a > 1",
    "b IS NULL",
    "a = b",
    "c = 'x'",
    "NOT (a < b)",
    "a IN (1, 2)",
    "b NOT IN (0, 3)",
    "a + b > 3",
    "c IS NOT NULL",
    "a = 1 OR c = 'y'",
    "b BETWEEN 0 AND 2",
    "a IS DISTINCT FROM b",
    "c LIKE '%z'",
    "(a > 0) IS NOT TRUE",
];
const PROJECTIONS: &[&str] = &[
    "b AS a, a AS b, c",
    "a + 1 AS a, b, c",
    "a, a - b AS b, c",
    "a, b, CASE WHEN a > 1 THEN 'x' ELSE c END AS c",
    "COALESCE(a, b) AS a, b, COALESCE(c, 'n') AS c",
    "a, NULLIF(b, 2) AS b, UPPER(c) AS c",
    "a, b, 'k' AS c",
];
const CONDITIONS: &[&str] = &[
    "l.a = r.a",
    "l.a = r.a AND l.b < r.b",
    "l.a = r.b AND l.c = r.c",
    "l.c = r.c",
    "l.a = r.a AND l.b > 0",
    "l.a IS NOT DISTINCT FROM r.a",
    "l.a < r.b",
];
const AGGREGATES: &[&str] = &[
    "CAST(COUNT(*) AS INT) AS b, MAX(c) AS c",
    "SUM(b) AS b, MIN(c) AS c",
    "MAX(b) AS b, MAX(c) AS c",
    "CAST(COUNT(DISTINCT b) AS INT) AS b, MIN(c) AS c",
    "MIN(b) AS b, CAST(COUNT(c) AS STRING) AS c",
    "SUM(b) FILTER (WHERE c = 'x') AS b, MAX(c) AS c",
    "SUM(DISTINCT b) AS b, MAX(c) FILTER (WHERE b > 1) AS c",
    "CAST(COUNT(DISTINCT b) AS INT) AS b, CAST(COUNT(DISTINCT c) AS STRING) AS c",
    "SUM(DISTINCT b) FILTER (WHERE c <> 'x') AS b, CAST(COUNT(DISTINCT c) FILTER (WHERE b > 0) + COUNT(*) AS STRING) AS c",
    "AVG(DISTINCT b) AS b, CAST(COUNT(DISTINCT (b, c)) + SUM(b) AS STRING) AS c",
];
const HAVINGS: &[&str] = &["COUNT(*) > 1", "SUM(b) > 2", "MIN(b) IS NOT NULL", "COUNT(DISTINCT c) = 1"];
const SETS: &[&str] = &["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "UNION ALL"];
const WITHINS: &[&str] = &[
    "a IN (SELECT a FROM {of})",
    "a NOT IN (SELECT a FROM {of})",
    "EXISTS (SELECT 1 FROM {of} WHERE y.a = x.a)",
    "NOT EXISTS (SELECT 1 FROM {of} WHERE y.a = x.a)",
    "EXISTS (SELECT 1 FROM {of} WHERE y.a = x.a AND y.b < x.b)",
    "a NOT IN (SELECT a FROM {of} WHERE a IS NOT NULL)",
];
const SCALARS: &[&str] = &[
    "a = (SELECT MAX(a) FROM {of})",
    "b < (SELECT COUNT(*) FROM {of})",
    "b >= (SELECT SUM(b) FROM {of} WHERE y.a = x.a)",
    "b = (SELECT MIN(b) FROM {of})",
];
const ORDERS: &[&str] = &["b, c", "b DESC, c", "c, b DESC"];

fn relation(draw: &mut Draw, depth: usize) -> Rel {
    if depth == 0 {
        return Rel::Table(draw.below(3));
    }
    let sub = |draw: &mut Draw| Box::new(relation(draw, depth - 1));
    match draw.below(12) {
        0 => Rel::Table(draw.below(3)),
        1 => Rel::Filter(sub(draw), draw.of(PREDICATES).to_owned()),
        2 => Rel::Project(sub(draw), draw.of(PROJECTIONS)),
        3 => Rel::Distinct(sub(draw)),
        4 | 5 => {
            let kind = draw.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            // A full join needs an equality.
            let conditions = if kind == "JOIN" { CONDITIONS } else { &CONDITIONS[..6] };
            Rel::Join { kind, left: sub(draw), right: sub(draw), on: draw.of(conditions) }
        }
        6 | 7 => {
            let having = draw.percent(30).then(|| draw.of(HAVINGS));
            Rel::Aggregate { input: sub(draw), of: draw.of(AGGREGATES), having }
        }
        8 => Rel::Set { op: draw.of(SETS), left: sub(draw), right: sub(draw) },
        9 => Rel::Within { input: sub(draw), of: sub(draw), test: draw.of(WITHINS) },
        10 if draw.percent(50) => Rel::Scalar { input: sub(draw), of: sub(draw), test: draw.of(SCALARS) },
        10 => Rel::Global(sub(draw), draw.of(AGGREGATES)),
        _ => Rel::Top { input: sub(draw), order: draw.of(ORDERS), count: 1 + draw.below(2) },
    }
}

impl Rel {
    fn sql(&self) -> String {
        let of = |rel: &Rel, name: &str| match rel {
            Rel::Table(n) => format!("t{n} AS {name}"),
            other => format!("({}) AS {name}", other.sql()),
        };
        match self {
            Rel::Table(n) => format!("SELECT a, b, c FROM t{n}"),
            Rel::Filter(input, test) => format!("SELECT a, b, c FROM {} WHERE {test}", of(input, "x")),
            Rel::Project(input, columns) => format!("SELECT {columns} FROM {}", of(input, "x")),
            Rel::Distinct(input) => format!("SELECT DISTINCT a, b, c FROM {}", of(input, "x")),
            Rel::Join { kind, left, right, on } => {
                format!("SELECT l.a, r.b, l.c FROM {} {kind} {} ON {on}", of(left, "l"), of(right, "r"))
            }
            Rel::Aggregate { input, of: made, having } => {
                let having = having.map(|test| format!(" HAVING {test}")).unwrap_or_default();
                format!("SELECT a, {made} FROM {} GROUP BY a{having}", of(input, "x"))
            }
            Rel::Global(input, made) => {
                format!("SELECT CAST(COUNT(*) AS INT) AS a, {made} FROM {}", of(input, "x"))
            }
            Rel::Set { op, left, right } => {
                format!("SELECT a, b, c FROM {} {op} SELECT a, b, c FROM {}", of(left, "x"), of(right, "y"))
            }
            Rel::Within { input, of: other, test } | Rel::Scalar { input, of: other, test } => {
                let test = test.replace("{of}", &of(other, "y"));
                format!("SELECT a, b, c FROM {} WHERE {test}", of(input, "x"))
            }
            Rel::Top { input, order, count } => format!(
                "SELECT a, b, c FROM (SELECT a, b, c, ROW_NUMBER() OVER (PARTITION BY a ORDER BY {order}) AS rn \
                 FROM {}) AS w WHERE rn <= {count}",
                of(input, "x")
            ),
        }
    }

    fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::Table(_) => Vec::new(),
            Rel::Filter(input, _) | Rel::Project(input, _) | Rel::Distinct(input) | Rel::Global(input, _) => {
                vec![input]
            }
            Rel::Aggregate { input, .. } | Rel::Top { input, .. } => vec![input],
            Rel::Join { left, right, .. } | Rel::Set { left, right, .. } => vec![left, right],
            Rel::Within { input, of, .. } | Rel::Scalar { input, of, .. } => vec![input, of],
        }
    }

    fn inputs_mut(&mut self) -> Vec<&mut Box<Rel>> {
        match self {
            Rel::Table(_) => Vec::new(),
            Rel::Filter(input, _) | Rel::Project(input, _) | Rel::Distinct(input) | Rel::Global(input, _) => {
                vec![input]
            }
            Rel::Aggregate { input, .. } | Rel::Top { input, .. } => vec![input],
            Rel::Join { left, right, .. } | Rel::Set { left, right, .. } => vec![left, right],
            Rel::Within { input, of, .. } | Rel::Scalar { input, of, .. } => vec![input, of],
        }
    }

    /// Relations with one part less.
    fn smaller(&self) -> Vec<Rel> {
        let mut all: Vec<Rel> = self.inputs().into_iter().cloned().collect();
        if let Rel::Aggregate { input, of, having: Some(_) } = self {
            all.push(Rel::Aggregate { input: input.clone(), of, having: None });
        }
        for at in 0..self.inputs().len() {
            for less in self.inputs()[at].smaller() {
                let mut changed = self.clone();
                **changed.inputs_mut().swap_remove(at) = less;
                all.push(changed);
            }
        }
        all
    }
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
    query: Rel,
    way: Way,
}

impl Trial {
    fn of(seed: u64) -> Trial {
        let mut draw = Draw(seed);
        let tables = (0..3).map(|_| events(&mut draw)).collect();
        let depth = 1 + draw.below(3);
        let query = relation(&mut draw, depth);
        let way = Way {
            mode: RuntimeMode::Streaming,
            parallelism: draw.of(&[1, 2, 4]),
            batch_rows: draw.of(&[1, 2, 100]),
            resume: draw.percent(35).then(|| draw.of(&[1, 2, 3])),
            phases: draw.of(&[AggregatePhases::One, AggregatePhases::Two, AggregatePhases::Auto]),
            bundle: draw.percent(30).then(|| draw.of(&[2, 5, 50])),
            buckets: if draw.percent(40) { NonZeroU32::new(draw.of(&[1, 2, 7])) } else { None },
        };
        Trial { tables, query, way }
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
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
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
                *refused.entry(why.lines().next().unwrap_or_default().to_owned()).or_default() += 1;
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
    refused.iter().for_each(|(why, count)| println!("{count} refused: {why}"));
    assert!(failures.is_empty(), "{} of {cases} failed:\n{}", failures.len(), failures.join("\n"));
}
