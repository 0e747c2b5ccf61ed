//! `docs/sql/functions.md` is what the registry says, and leaves out no function that Flink documents. `FLUGS_BLESS=1` writes it
//! anew; what stands behind [`MISSING_HEADING`] is written by hand and stays.

use flugs_sql_functions::{Category, FunctionDoc, FunctionRegistry};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

const HEADING: &str = "# Functions

All functions that a query may call, by category. Names are case-insensitive. A function of NULL is NULL unless its line says
otherwise. `SHOW FUNCTIONS` lists the same names; a program registers functions of its own under names of its own ([library.md](library.md)).

This page is made by a test (`crates/sql-functions/tests/functions_doc.rs`) from what the functions say of themselves.
";
const MISSING_HEADING: &str = "## Missing";

/// The names that Flink 2.3's pages of built-in functions have, and aggregates and window functions.
const FLINK: &str = "
POWER ABS SQRT LN LOG10 LOG2 LOG EXP CEIL CEILING FLOOR SIN SINH COS TAN TANH COT ASIN ACOS ATAN ATAN2 COSH DEGREES RADIANS SIGN
ROUND PI E RAND RAND_INTEGER UUID BIN HEX UNHEX TRUNCATE
CHAR_LENGTH UPPER LOWER POSITION PRINTF TRIM LTRIM RTRIM BTRIM REPEAT REGEXP_REPLACE OVERLAY STARTSWITH ENDSWITH SUBSTRING SUBSTR
REPLACE REGEXP REGEXP_COUNT REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_INSTR REGEXP_SUBSTR TRANSLATE INITCAP CONCAT CONCAT_WS LPAD
RPAD FROM_BASE64 TO_BASE64 ASCII CHR DECODE ENCODE INSTR LEFT RIGHT LOCATE URL_DECODE URL_ENCODE INET_ATON INET_NTOA PARSE_URL
REVERSE SPLIT_INDEX STR_TO_MAP JSON_QUOTE JSON_UNQUOTE ELT
LOCALTIME LOCALTIMESTAMP CURRENT_TIME CURRENT_DATE CURRENT_TIMESTAMP NOW CURRENT_ROW_TIMESTAMP EXTRACT YEAR QUARTER MONTH WEEK
DAYOFYEAR DAYOFMONTH DAYOFWEEK HOUR MINUTE SECOND OVERLAPS DATE_FORMAT TIMESTAMPADD TIMESTAMPDIFF CONVERT_TZ FROM_UNIXTIME
UNIX_TIMESTAMP TO_DATE TO_TIMESTAMP_LTZ TO_TIMESTAMP CURRENT_WATERMARK
CASE NULLIF COALESCE IF IFNULL IS_ALPHA IS_DECIMAL IS_DIGIT GREATEST LEAST CAST TRY_CAST TYPEOF
CARDINALITY ELEMENT ARRAY_APPEND ARRAY_CONTAINS ARRAY_DISTINCT ARRAY_POSITION ARRAY_PREPEND ARRAY_REMOVE ARRAY_REVERSE ARRAY_SLICE
ARRAY_SORT ARRAY_UNION ARRAY_CONCAT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_MAX ARRAY_MIN ARRAY_JOIN MAP_KEYS MAP_UNION MAP_VALUES
MAP_ENTRIES MAP_FROM_ARRAYS SPLIT ROW ARRAY MAP DESCRIPTOR OBJECT_OF OBJECT_UPDATE
JSON_EXISTS JSON_VALUE JSON_QUERY JSON_STRING JSON_OBJECT JSON JSON_ARRAY PARSE_JSON TRY_PARSE_JSON
MD5 SHA1 SHA224 SHA256 SHA384 SHA512 SHA2 BITMAP_AND BITMAP_ANDNOT BITMAP_OR BITMAP_XOR BITMAP_BUILD BITMAP_CARDINALITY
BITMAP_FROM_BYTES BITMAP_TO_ARRAY BITMAP_TO_BYTES BITMAP_TO_STRING CURRENT_DATABASE SOURCE_WATERMARK GROUP_ID GROUPING GROUPING_ID
COUNT SUM AVG MIN MAX STDDEV_POP STDDEV_SAMP VAR_POP VAR_SAMP VARIANCE COLLECT LISTAGG FIRST_VALUE LAST_VALUE ARRAY_AGG PERCENTILE
JSON_OBJECTAGG JSON_ARRAYAGG RANK DENSE_RANK ROW_NUMBER LEAD LAG CUME_DIST PERCENT_RANK NTILE
BITMAP_AND_AGG BITMAP_OR_AGG BITMAP_XOR_AGG BITMAP_AND_CARDINALITY_AGG BITMAP_OR_CARDINALITY_AGG BITMAP_XOR_CARDINALITY_AGG
BITMAP_BUILD_AGG BITMAP_BUILD_CARDINALITY_AGG FROM_CHANGELOG TO_CHANGELOG
";

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql/functions.md")
}

/// A cell of a table: `|` stands for the end of one.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn generated(registry: &FunctionRegistry) -> String {
    let mut categories: BTreeMap<Category, Vec<&FunctionDoc>> = BTreeMap::new();
    for doc in registry.docs() {
        categories.entry(doc.category).or_default().push(doc);
    }
    let mut out = HEADING.to_owned();
    for (category, docs) in categories {
        let _ = write!(out, "\n## {}\n\n| function | what it does |\n| --- | --- |\n", category.title());
        let mut lines: Vec<String> = Vec::new();
        for doc in docs {
            // What the usage says already is no other name.
            let also = doc.aliases.iter().filter(|alias| !doc.usage.starts_with(&format!("{alias}(")));
            let also: Vec<&str> = also.map(String::as_str).collect();
            let also = if also.is_empty() { String::new() } else { format!(" (also {})", also.join(", ")) };
            let line = format!("| `{}`{also} | {} |\n", cell(&doc.usage), cell(&doc.text));
            // Functions that the parser tells apart are one to who reads this.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        out.push_str(&lines.concat());
    }
    out
}

#[test]
fn the_page_is_what_the_registry_says() {
    let registry = FunctionRegistry::builtin();
    let now = std::fs::read_to_string(page()).unwrap_or_default();
    let by_hand = now.find(MISSING_HEADING).map_or("", |at| &now[at..]);
    let wanted = format!("{}\n{by_hand}", generated(&registry));
    if std::env::var_os("FLUGS_BLESS").is_some() {
        std::fs::write(page(), &wanted).expect("the page is writable");
        return;
    }
    assert!(now == wanted, "docs/sql/functions.md is not what the registry says: run with FLUGS_BLESS=1");
}

#[test]
fn no_function_of_flinks_is_left_out() {
    let registry = FunctionRegistry::builtin();
    let page = std::fs::read_to_string(page()).expect("the page is there");
    let (there, missing) = page.split_once(MISSING_HEADING).expect("the page says what is missing");
    let is_named = |text: &str, name: &str| {
        text.lines().filter(|line| line.starts_with("| `")).any(|line| {
            let first = line.trim_start_matches("| `").split(" |").next().unwrap_or_default();
            first.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
        })
    };
    let (mut absent, mut both) = (Vec::new(), Vec::new());
    for name in FLINK.split_whitespace() {
        let known = registry.doc(name).is_some() || is_named(there, name);
        let named = is_named(missing, name);
        match (known, named) {
            (false, false) => absent.push(name),
            (true, true) => both.push(name),
            _ => {}
        }
    }
    assert!(absent.is_empty(), "neither a function nor said to be missing: {absent:?}");
    assert!(both.is_empty(), "said to be missing, and there: {both:?}");
}
