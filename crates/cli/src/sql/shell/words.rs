//! The keywords that a shell completes and highlights.

/// In order.
#[rustfmt::skip]
pub const KEYWORDS: &[&str] = &[
    "ADD", "AFTER", "ALL", "ALTER", "ANALYZE", "AND", "ANTI", "ARRAY", "AS", "ASC", "BEGIN", "BETWEEN", "BIGINT", "BOOLEAN", "BY",
    "BYTES", "CASE", "CAST", "CATALOG", "CATALOGS", "CHANGELOG_MODE", "CLEAR", "COLUMNS", "COMMENT", "CONSTRAINT", "CREATE",
    "CROSS", "CUBE", "CURRENT", "DATABASE", "DATABASES", "DATE", "DECIMAL", "DELETE", "DESC", "DESCRIBE", "DESCRIPTOR", "DISTINCT",
    "DOUBLE", "DROP", "ELSE", "END", "ENFORCED", "EXCEPT", "EXECUTE", "EXISTS", "EXPLAIN", "FALSE", "FETCH", "FILTER", "FLOAT",
    "FOR", "FROM", "FULL", "FUNCTION", "FUNCTIONS", "GROUP", "GROUPING", "HAVING", "HELP", "IF", "ILIKE", "IN", "INNER", "INSERT",
    "INT", "INTERSECT", "INTERVAL", "INTO", "IS", "JOB", "JOBS", "JOIN", "JSON_EXECUTION_PLAN", "LATERAL", "LEFT", "LIKE", "LIMIT",
    "MAP", "METADATA", "MODIFY", "NATURAL", "NOT", "NULL", "OF", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "OVERWRITE",
    "PARTITION", "PARTITIONED", "PLAN_ADVICE", "PRECEDING", "PRIMARY KEY", "QUIT", "RANGE", "RENAME", "REPLACE", "RESET", "RIGHT",
    "ROLLUP", "ROW", "ROWS", "SELECT", "SEMI", "SET", "SETS", "SHOW", "SMALLINT", "STATEMENT", "STOP", "STRING", "SYSTEM_TIME",
    "TABLE", "TABLES", "TEMPORARY", "THEN", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TINYINT", "TRUE", "TRY_CAST", "UNBOUNDED",
    "UNION", "UNNEST", "USE", "USING", "VALUES", "VARCHAR", "VIEW", "VIEWS", "VIRTUAL", "WATERMARK", "WHEN", "WHERE", "WINDOW",
    "WITH", "WITH SAVEPOINT", "WITHIN",
];

/// Whether a word is a keyword.
pub fn is_keyword(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    KEYWORDS.binary_search(&upper.as_str()).is_ok()
        || ["PRIMARY", "KEY", "SAVEPOINT"].contains(&upper.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted());
        assert!(is_keyword("select") && is_keyword("KEY") && !is_keyword("orders"));
    }
}
