//! Random queries: each is a relation of others, down to tables.

use super::Draw;

/// A relation with the columns `a INT, b INT, c STRING`.
#[derive(Debug, Clone)]
pub enum Rel {
    Table(usize),
    Filter(Box<Rel>, String),
    Project(Box<Rel>, &'static str),
    Distinct(Box<Rel>),
    Join {
        kind: &'static str,
        left: Box<Rel>,
        right: Box<Rel>,
        on: &'static str,
    },
    Aggregate {
        input: Box<Rel>,
        of: &'static str,
        having: Option<&'static str>,
    },
    Global(Box<Rel>, &'static str),
    Set {
        op: &'static str,
        left: Box<Rel>,
        right: Box<Rel>,
    },
    Within {
        input: Box<Rel>,
        of: Box<Rel>,
        test: &'static str,
    },
    Scalar {
        input: Box<Rel>,
        of: Box<Rel>,
        test: &'static str,
    },
    Top {
        input: Box<Rel>,
        order: &'static str,
        count: usize,
    },
    /// Groups of windows of a table with times.
    Windows {
        table: usize,
        window: &'static str,
        of: &'static str,
        by: &'static str,
    },
    /// Rows of a table with times, and those around them.
    Over {
        table: usize,
        call: &'static str,
        frame: &'static str,
    },
    /// Rows of tables with times that are near each other.
    Near {
        kind: &'static str,
        on: &'static str,
    },
    Sets {
        input: Box<Rel>,
        of: &'static str,
        sets: &'static str,
    },
    Unnest {
        input: Box<Rel>,
        with: &'static str,
    },
    Lateral {
        input: Box<Rel>,
        of: Box<Rel>,
        with: &'static str,
    },
    First {
        input: Box<Rel>,
        order: &'static str,
        count: usize,
    },
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
/// With the time column of a table `e{n}`.
const WINDOWS: &[&str] = &[
    "TUMBLE(TABLE e{n}, DESCRIPTOR(ts), INTERVAL '10' MINUTE)",
    "HOP(TABLE e{n}, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '15' MINUTE)",
    "CUMULATE(TABLE e{n}, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '20' MINUTE)",
    "SESSION(TABLE e{n} PARTITION BY a, DESCRIPTOR(ts), INTERVAL '6' MINUTE)",
];
/// Groups by which sessions, which are of an `a`, are whole.
const WINDOW_KEYS: &[&str] = &["a, window_start, window_end", "window_start, window_end, a"];
const CALLS: &[&str] = &[
    "SUM(b) {over}",
    "CAST(COUNT(*) {over} AS INT)",
    "MIN(b) {over}",
    "MAX(a) {over}",
    "CAST(COUNT(b) {over} AS INT)",
    "CAST(COUNT(*) {over} AS INT) - SUM(b) {over}",
];
const FRAMES: &[&str] = &[
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
];
const NEAR: &[&str] = &[
    "l.a = r.a AND l.ts BETWEEN r.ts - INTERVAL '5' MINUTE AND r.ts + INTERVAL '3' MINUTE",
    "l.c = r.c AND l.ts >= r.ts AND l.ts < r.ts + INTERVAL '12' MINUTE",
    "l.a = r.a AND l.b < r.b AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '20' MINUTE",
];
const GROUPINGS: &[&str] =
    &["GROUPING SETS ((a), ())", "ROLLUP (a, c)", "CUBE (a, c)", "GROUPING SETS ((a, c), (c))"];
const UNNESTS: &[&str] = &[
    "SELECT a, u AS b, c FROM {of} CROSS JOIN UNNEST(ARRAY[a, b]) AS t(u)",
    "SELECT a, b, u AS c FROM {of} CROSS JOIN UNNEST(MAP[COALESCE(c, 'n'), b]) AS t(u, v)",
    "SELECT a, b, u AS c FROM {of} LEFT JOIN UNNEST(ARRAY[c, 'w']) AS t(u) ON TRUE",
];
const LATERALS: &[&str] = &[
    "LATERAL (SELECT b FROM {of} WHERE y.a = x.a ORDER BY b LIMIT 1)",
    "LATERAL (SELECT MAX(b) FROM {of} WHERE y.a = x.a)",
    "LATERAL (SELECT b FROM {of} WHERE y.c = x.c)",
];
const WHOLE_ORDERS: &[&str] = &["a, b, c", "c DESC, b, a", "b DESC, a DESC, c"];
const ORDERS: &[&str] = &["b, c", "b DESC, c", "c, b DESC"];

pub fn relation(draw: &mut Draw, depth: usize) -> Rel {
    if depth == 0 {
        return Rel::Table(draw.below(3));
    }
    let sub = |draw: &mut Draw| Box::new(relation(draw, depth - 1));
    match draw.below(19) {
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
        11 => {
            let (table, window) = (draw.below(2), draw.of(WINDOWS));
            Rel::Windows { table, window, of: draw.of(AGGREGATES), by: draw.of(WINDOW_KEYS) }
        }
        12 => Rel::Over { table: draw.below(2), call: draw.of(CALLS), frame: draw.of(FRAMES) },
        13 => {
            let kind = draw.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            Rel::Near { kind, on: draw.of(NEAR) }
        }
        14 => Rel::Sets { input: sub(draw), of: draw.of(AGGREGATES), sets: draw.of(GROUPINGS) },
        15 => Rel::Unnest { input: sub(draw), with: draw.of(UNNESTS) },
        16 => Rel::Lateral { input: sub(draw), of: sub(draw), with: draw.of(LATERALS) },
        17 => Rel::First { input: sub(draw), order: draw.of(WHOLE_ORDERS), count: 1 + draw.below(4) },
        _ => Rel::Top { input: sub(draw), order: draw.of(ORDERS), count: 1 + draw.below(2) },
    }
}

impl Rel {
    pub fn sql(&self) -> String {
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
            Rel::Windows { table, window, of: made, by } => {
                let window = window.replace("{n}", &table.to_string());
                format!("SELECT a, {made} FROM TABLE({window}) GROUP BY {by}")
            }
            Rel::Over { table, call, frame } => {
                let call = call.replace("{over}", &format!("OVER (PARTITION BY a ORDER BY ts {frame})"));
                format!("SELECT a, {call} AS b, c FROM e{table}")
            }
            Rel::Near { kind, on } => format!("SELECT l.a, r.b, l.c FROM e0 AS l {kind} e1 AS r ON {on}"),
            Rel::Sets { input, of: made, sets } => {
                format!("SELECT a, {made} FROM {} GROUP BY {sets}", of(input, "x"))
            }
            Rel::Unnest { input, with } => with.replace("{of}", &of(input, "x")),
            Rel::Lateral { input, of: other, with } => {
                let with = with.replace("{of}", &of(other, "y"));
                format!("SELECT x.a, t.b, x.c FROM {}, {with} AS t(b)", of(input, "x"))
            }
            Rel::First { input, order, count } => {
                format!("SELECT a, b, c FROM {} ORDER BY {order} LIMIT {count}", of(input, "x"))
            }
        }
    }

    fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::Table(_) | Rel::Windows { .. } | Rel::Over { .. } | Rel::Near { .. } => Vec::new(),
            Rel::Filter(input, _) | Rel::Project(input, _) | Rel::Distinct(input) | Rel::Global(input, _) => {
                vec![input]
            }
            Rel::Aggregate { input, .. } | Rel::Top { input, .. } | Rel::First { input, .. } => vec![input],
            Rel::Sets { input, .. } | Rel::Unnest { input, .. } => vec![input],
            Rel::Join { left, right, .. } | Rel::Set { left, right, .. } => vec![left, right],
            Rel::Within { input, of, .. } | Rel::Scalar { input, of, .. } => vec![input, of],
            Rel::Lateral { input, of, .. } => vec![input, of],
        }
    }

    fn inputs_mut(&mut self) -> Vec<&mut Box<Rel>> {
        match self {
            Rel::Table(_) | Rel::Windows { .. } | Rel::Over { .. } | Rel::Near { .. } => Vec::new(),
            Rel::Filter(input, _) | Rel::Project(input, _) | Rel::Distinct(input) | Rel::Global(input, _) => {
                vec![input]
            }
            Rel::Aggregate { input, .. } | Rel::Top { input, .. } | Rel::First { input, .. } => vec![input],
            Rel::Sets { input, .. } | Rel::Unnest { input, .. } => vec![input],
            Rel::Join { left, right, .. } | Rel::Set { left, right, .. } => vec![left, right],
            Rel::Within { input, of, .. } | Rel::Scalar { input, of, .. } => vec![input, of],
            Rel::Lateral { input, of, .. } => vec![input, of],
        }
    }

    /// Relations with one part less.
    pub fn smaller(&self) -> Vec<Rel> {
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
