//! Whole scripts, from text to rows.

use arrow::util::display::{ArrayFormatter, FormatOptions};
use flugs_sql::{Folded, SqlEnvironment};
use flugs_table::Registry;

fn environment() -> SqlEnvironment {
    let mut registry = Registry::new();
    flugs_nexmark::table::register(&mut registry);
    flugs_tables::register(&mut registry);
    flugs_files::table::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    SqlEnvironment::new(registry)
}

/// The final rows of the last query, as text.
fn rows(env: &mut SqlEnvironment, script: &str) -> Vec<String> {
    let mut lines = Vec::new();
    env.execute_script(script, |mut result| {
        let mut folded = Folded::new();
        while let Some(batch) = result.next_batch() {
            folded.add(&batch)?;
        }
        result.wait()?;
        lines.clear();
        let Some(rows) = folded.rows()? else { return Ok(()) };
        let options = FormatOptions::new().with_null("NULL");
        let columns: Vec<_> = rows.columns().iter().map(|c| ArrayFormatter::try_new(c, &options).unwrap()).collect();
        for row in 0..rows.num_rows() {
            lines.push(columns.iter().map(|c| c.value(row).to_string()).collect::<Vec<_>>().join("|"));
        }
        Ok(())
    })
    .unwrap_or_else(|e| panic!("{e}"));
    lines
}

#[test]
fn constants() {
    let mut env = environment();
    assert_eq!(rows(&mut env, "SELECT 1, 'a', 1 + 2 * 3, CAST('7' AS BIGINT)"), ["1|a|7|7"]);
    assert_eq!(
        rows(&mut env, "SELECT a, COUNT(*), SUM(b) FROM (VALUES (1, 10), (2, 20), (1, 5)) AS t(a, b) GROUP BY a"),
        ["1|2|15", "2|1|20"]
    );
}

#[test]
fn nexmark_counts() {
    let mut env = environment();
    let ddl = include_str!("../../sql-plan/tests/nexmark/ddl.sql").replace("${EVENTS}", "10000").replace("${RATE}", "1000");
    rows(&mut env, &ddl);
    assert_eq!(rows(&mut env, "SELECT COUNT(*) FROM bid"), ["9200"]);
    for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22] {
        let mut env = environment();
        rows(&mut env, &ddl);
        let path = format!("{}/../sql-plan/tests/nexmark/q{n}.sql", env!("CARGO_MANIFEST_DIR"));
        let script = std::fs::read_to_string(path).unwrap();
        let query = &script[script.find("INSERT INTO sink").unwrap() + "INSERT INTO sink".len()..];
        let views = script[..script.find("INSERT INTO sink").unwrap()].to_owned();
        let start = std::time::Instant::now();
        let out = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rows(&mut env, &format!("{views}{query}"))));
        match out {
            Ok(out) => println!("q{n}: {} rows in {:?}, {:?}", out.len(), start.elapsed(), out.first()),
            Err(_) => println!("q{n}: FAILED"),
        }
    }
}
