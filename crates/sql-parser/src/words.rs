//! Words: which are keywords of the grammar, which are reserved, and what a misspelt one may have meant.

use sqlparser::keywords::Keyword;

/// The words that `sqlparser`'s grammar of queries may see as keywords. All its other keywords belong to other databases:
/// here they are identifiers.
#[rustfmt::skip]
const GRAMMAR: &[Keyword] = &[
    Keyword::AFTER, Keyword::ALL, Keyword::AND, Keyword::ANTI, Keyword::ANY, Keyword::ARRAY, Keyword::AS,
    Keyword::ASC, Keyword::BETWEEN, Keyword::BY, Keyword::CASE, Keyword::CROSS, Keyword::CUBE,
    Keyword::CURRENT, Keyword::CURRENT_DATE, Keyword::CURRENT_TIME, Keyword::CURRENT_TIMESTAMP,
    Keyword::DEFINE, Keyword::DESC, Keyword::DISTINCT, Keyword::ELSE, Keyword::END, Keyword::ESCAPE,
    Keyword::EXCEPT, Keyword::EXISTS, Keyword::FALSE, Keyword::FETCH, Keyword::FILTER, Keyword::FIRST,
    Keyword::FOLLOWING, Keyword::FOR, Keyword::FROM, Keyword::FULL, Keyword::GROUP, Keyword::GROUPING,
    Keyword::HAVING, Keyword::IGNORE, Keyword::IN, Keyword::INNER, Keyword::INTERSECT, Keyword::INTERVAL,
    Keyword::IS, Keyword::JOIN, Keyword::LAST, Keyword::LATERAL, Keyword::LEFT, Keyword::LIKE,
    Keyword::LIMIT, Keyword::LOCALTIME, Keyword::LOCALTIMESTAMP, Keyword::MATCH, Keyword::MATCH_RECOGNIZE,
    Keyword::MEASURES, Keyword::NATURAL, Keyword::NEXT, Keyword::NOT, Keyword::NULL, Keyword::NULLS,
    Keyword::OF, Keyword::OFFSET, Keyword::ON, Keyword::ONE, Keyword::ONLY, Keyword::OR, Keyword::ORDER,
    Keyword::ORDINALITY, Keyword::OUTER, Keyword::OVER, Keyword::OVERLAPS, Keyword::PARTITION,
    Keyword::PAST, Keyword::PATTERN, Keyword::PER, Keyword::PRECEDING, Keyword::QUALIFY, Keyword::RANGE,
    Keyword::RECURSIVE, Keyword::RESPECT, Keyword::RIGHT, Keyword::ROLLUP, Keyword::ROW, Keyword::ROWS,
    Keyword::SELECT, Keyword::SEMI, Keyword::SET, Keyword::SETS, Keyword::SIMILAR, Keyword::SKIP,
    Keyword::SOME, Keyword::SYSTEM_TIME, Keyword::TABLE, Keyword::THEN, Keyword::TO, Keyword::TRUE,
    Keyword::UNBOUNDED, Keyword::UNION, Keyword::UNKNOWN, Keyword::USING, Keyword::VALUES, Keyword::WHEN,
    Keyword::WHERE, Keyword::WINDOW, Keyword::WITH, Keyword::WITHIN,
];

/// Whether `sqlparser` may see this keyword as one.
pub(crate) fn is_grammar_keyword(keyword: Keyword) -> bool {
    GRAMMAR.binary_search(&keyword).is_ok()
}

/// Words that name nothing unless they stand in back-quotes: those of Flink (by way of Calcite), sorted.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "ABS", "ALL", "ALLOW", "ALTER", "AND", "ANY", "ARE", "ARRAY", "AS", "ASYMMETRIC", "AT", "AUTHORIZATION",
    "AVG", "BEGIN", "BETWEEN", "BIGINT", "BINARY", "BLOB", "BOOLEAN", "BOTH", "BY", "CALL", "CARDINALITY",
    "CASE", "CAST", "CEIL", "CEILING", "CHAR", "CHARACTER", "CHAR_LENGTH", "CHECK", "CLOB", "CLOSE",
    "COALESCE", "COLLATE", "COLLECT", "COLUMN", "COMMIT", "CONDITION", "CONNECT", "CONSTRAINT", "CONTAINS",
    "CONVERT", "COUNT", "CREATE", "CROSS", "CUBE", "CURRENT", "CURRENT_CATALOG", "CURRENT_DATE",
    "CURRENT_ROW", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "CURSOR", "CYCLE", "DATE", "DAY",
    "DEC", "DECIMAL", "DECLARE", "DEFAULT", "DEFINE", "DELETE", "DENSE_RANK", "DESCRIBE", "DETERMINISTIC",
    "DISTINCT", "DOUBLE", "DROP", "DYNAMIC", "EACH", "ELEMENT", "ELSE", "EMPTY", "END", "EQUALS", "ESCAPE",
    "EVERY", "EXCEPT", "EXECUTE", "EXISTS", "EXP", "EXPLAIN", "EXTERNAL", "EXTRACT", "FALSE", "FETCH",
    "FILTER", "FIRST_VALUE", "FLOAT", "FLOOR", "FOR", "FOREIGN", "FROM", "FULL", "FUNCTION", "GLOBAL",
    "GRANT", "GROUP", "GROUPING", "GROUPS", "HAVING", "HOUR", "IMPORT", "IN", "INNER", "INSERT", "INT",
    "INTEGER", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LAG", "LANGUAGE", "LARGE", "LAST_VALUE",
    "LATERAL", "LEAD", "LEADING", "LEFT", "LIKE", "LIMIT", "LOCAL", "LOCALTIME", "LOCALTIMESTAMP", "LOWER",
    "MATCH", "MATCHES", "MATCH_RECOGNIZE", "MAX", "MEASURES", "MEMBER", "MERGE", "MIN", "MINUTE", "MOD",
    "MODIFIES", "MODULE", "MONTH", "MULTISET", "NATIONAL", "NATURAL", "NEXT", "NO", "NONE", "NOT", "NTILE",
    "NULL", "NULLIF", "NUMERIC", "OF", "OFFSET", "ON", "ONE", "ONLY", "OR", "ORDER", "OUT", "OUTER", "OVER",
    "OVERLAPS", "OVERLAY", "PARAMETER", "PARTITION", "PATTERN", "PER", "PERCENT", "PERIOD", "POSITION",
    "POWER", "PRECEDES", "PRECISION", "PRIMARY", "PROCEDURE", "QUALIFY", "RANGE", "RANK", "REAL",
    "RECURSIVE", "REFERENCES", "RESET", "RESULT", "RETURN", "RETURNS", "REVOKE", "RIGHT", "ROLLBACK",
    "ROLLUP", "ROW", "ROWS", "ROW_NUMBER", "SEARCH", "SECOND", "SELECT", "SET", "SHOW", "SIMILAR", "SKIP",
    "SMALLINT", "SOME", "SPECIFIC", "SQL", "SQRT", "START", "STATIC", "STREAM", "SUBSET", "SUBSTRING",
    "SUM", "SYMMETRIC", "SYSTEM", "SYSTEM_TIME", "TABLE", "TABLESAMPLE", "THEN", "TIME", "TIMESTAMP",
    "TINYINT", "TO", "TRAILING", "TRIGGER", "TRIM", "TRUE", "TRUNCATE", "UNION", "UNIQUE", "UNKNOWN",
    "UNNEST", "UPDATE", "UPPER", "UPSERT", "USER", "USING", "VALUE", "VALUES", "VARBINARY", "VARCHAR",
    "VARYING", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN", "WITHOUT", "YEAR",
];

/// Whether a word names something only in back-quotes.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word.to_ascii_uppercase().as_str()).is_ok()
}

/// Reserved words that may begin an expression.
#[rustfmt::skip]
const BEGINNERS: &[&str] = &[
    "ALL", "ANY", "CASE", "CURRENT_CATALOG", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
    "CURRENT_USER", "DEFAULT", "DISTINCT", "EXISTS", "FALSE", "INTERVAL", "LOCALTIME", "LOCALTIMESTAMP",
    "NOT", "NULL", "ROW", "SELECT", "TABLE", "TRUE", "UNKNOWN", "VALUES", "WITH",
];

/// Whether a reserved word may begin an expression without a parenthesis behind it.
pub(crate) fn begins_expression(word: &str) -> bool {
    BEGINNERS.binary_search(&word.to_ascii_uppercase().as_str()).is_ok()
}

/// The keywords that a misspelt word may have meant.
#[rustfmt::skip]
const CANDIDATES: &[&str] = &[
    "ALTER", "ANALYZE", "AND", "ARRAY", "AS", "BEGIN", "BETWEEN", "BIGINT", "BOOLEAN", "BY", "CASE", "CAST",
    "CATALOG", "COLUMN", "COLUMNS", "COMMENT", "CONSTRAINT", "CREATE", "CROSS", "CURRENT", "DATABASE",
    "DATABASES", "DECIMAL", "DESC", "DESCRIBE", "DESCRIPTOR", "DISTINCT", "DISTRIBUTED", "DOUBLE", "DROP", "ELSE",
    "END", "ENFORCED", "EXCEPT", "EXECUTE", "EXISTS", "EXPLAIN", "FETCH", "FILTER", "FLOAT", "FROM", "FULL",
    "FUNCTION", "GROUP", "HAVING", "INNER", "INSERT", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "JOIN",
    "LATERAL", "LEFT", "LIKE", "LIMIT", "METADATA", "MINUTE", "NATURAL", "NOT", "NULL", "OFFSET", "ORDER", "ORDINALITY",
    "OUTER", "OVER", "OVERWRITE", "PARTITION", "PARTITIONED", "PRECEDING", "PRIMARY", "QUALIFY", "RENAME",
    "RESET", "RIGHT", "ROWS", "SECOND", "SELECT", "SHOW", "SMALLINT", "STATEMENT", "STRING", "TABLE",
    "TABLES", "TEMPORARY", "THEN", "TIMESTAMP", "TINYINT", "UNBOUNDED", "UNION", "UNNEST", "UPDATE",
    "USING", "VALUES", "VARCHAR", "VIEW", "VIRTUAL", "WATERMARK", "WHEN", "WHERE", "WINDOW", "WITH",
    "WITHIN",
];

/// The keyword that a misspelt word may have meant, if one is near.
pub(crate) fn misspelt(word: &str) -> Option<&'static str> {
    let known = is_reserved(word) || CANDIDATES.iter().any(|candidate| candidate.eq_ignore_ascii_case(word));
    if known { None } else { nearest(word, CANDIDATES.iter().copied()) }
}

/// The nearest of some words, if it is near enough: one slip, or two in longer words with the same first letter.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(40).map(|c| c.to_ascii_uppercase()).collect();
    if word.len() < 3 {
        return None;
    }
    let allowed = if word.len() < 6 { 1 } else { 2 };
    candidates
        .into_iter()
        .map(|candidate| (slips(&word, candidate), candidate))
        .filter(|&(distance, candidate)| {
            distance == 1
                || distance == allowed && distance > 0 && candidate.chars().next() == word.first().copied()
        })
        .min_by_key(|&(distance, candidate)| (distance, usize::MAX - shared(&word, candidate)))
        .map(|(_, candidate)| candidate)
}

/// How many letters two words share from the first on.
fn shared(word: &[char], candidate: &str) -> usize {
    word.iter().zip(candidate.chars()).take_while(|(a, b)| *a == b).count()
}

/// The slips of the pen between two words: a letter more, less, another, or two exchanged.
fn slips(word: &[char], candidate: &str) -> usize {
    let other: Vec<char> = candidate.chars().map(|c| c.to_ascii_uppercase()).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=word.len() {
        let mut now = vec![i; other.len() + 1];
        for j in 1..=other.len() {
            let same = usize::from(word[i - 1] != other[j - 1]);
            now[j] = (last[j] + 1).min(now[j - 1] + 1).min(last[j - 1] + same);
            if i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1] {
                now[j] = now[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, now);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(GRAMMAR.is_sorted() && RESERVED.is_sorted() && BEGINNERS.is_sorted());
    }

    #[test]
    fn near_words_are_found() {
        assert_eq!(misspelt("SELCT"), Some("SELECT"));
        assert_eq!(misspelt("form"), Some("FROM"));
        assert_eq!(misspelt("WATERMAKR"), Some("WATERMARK"));
        assert_eq!(misspelt("from"), None);
        assert_eq!(misspelt("auction"), None);
        assert_eq!(misspelt("a"), None);
    }
}
