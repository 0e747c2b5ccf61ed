//! What DataFusion and our own lower layers say, as the user of a query says it, each with an edit.

use crate::error::{semantic, words};
use flugs_sql_parser::{SqlError, SqlErrorKind};

/// Functions that stand before `OVER` alone.
pub(super) const WINDOW_FUNCTIONS: [&str; 8] =
    ["ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LEAD", "LAG"];

/// A message of a lower layer: `*` stands for anything, `{0}` for what the first `*` was.
struct Phrase {
    said: &'static str,
    kind: SqlErrorKind,
    says: &'static str,
    help: &'static str,
}

const fn phrase(kind: SqlErrorKind, said: &'static str, says: &'static str, help: &'static str) -> Phrase {
    Phrase { said, kind, says, help }
}

use SqlErrorKind::{Name, Semantic, Type, Unsupported};

const PHRASES: &[Phrase] = &[
    phrase(
        Type,
        "Cannot coerce arithmetic expression * to valid types",
        "there is no operator for {0}",
        "CAST one side to the type of the other; to times, add an INTERVAL",
    ),
    phrase(
        Type,
        "Cannot get result type for * operation *: *",
        "there is no operator for {1}",
        "CAST one side to the type of the other; to times, add an INTERVAL",
    ),
    phrase(
        Type,
        "Cannot infer common argument type for comparison operation *",
        "{0}: these types cannot be compared",
        "CAST one side to the type of the other",
    ),
    phrase(
        Type,
        "Cannot create filter with non-boolean predicate '*' returning *",
        "a condition is BOOLEAN, and {0} is {1}",
        "compare it with something, or write {0} IS NOT NULL",
    ),
    phrase(
        Type,
        "Join condition must be boolean type, but got *",
        "the condition of a JOIN is BOOLEAN, and this one is {0}",
        "compare columns of both sides, as in ON a.id = b.id",
    ),
    phrase(
        Type,
        "Unary operator 'NOT' requires a boolean expression, got *",
        "NOT takes a BOOLEAN, and this is {0}",
        "compare it with something, as in NOT (x = 1)",
    ),
    phrase(
        Type,
        "Unary operator '-' only supports signed numeric, interval and timestamp types",
        "a sign stands before numbers and intervals alone",
        "CAST it to a number",
    ),
    phrase(
        Type,
        "There isn't a common type to coerce * and * in LIKE expression",
        "LIKE compares STRINGs, and these are {0} and {1}",
        "CAST both to STRING",
    ),
    phrase(
        Type,
        "There isn't a common type to coerce * and * in *",
        "{0} and {1} have no type in common",
        "CAST one to the type of the other",
    ),
    phrase(
        Type,
        "Can not find compatible types to compare * with *",
        "{0} cannot be compared with {1}",
        "CAST one to the type of the other",
    ),
    phrase(
        Type,
        "Failed to coerce then (*) and else (*) to common types in CASE WHEN expression",
        "the results of CASE are {0} and {1}, which have no type in common",
        "CAST them to one type",
    ),
    phrase(
        Type,
        "WHEN expressions in CASE couldn't be converted to common type (*)",
        "WHEN of a CASE takes a {0}",
        "compare the value with something, as in WHEN x > 0",
    ),
    phrase(
        Type,
        "Arithmetic overflow: *",
        "an INTERVAL or another constant is out of the range of its type",
        "write a smaller one",
    ),
    phrase(
        Type,
        "Parser error: Unable to represent * months in *",
        "an INTERVAL of {0} months is out of the range of its type",
        "write a shorter one",
    ),
    phrase(
        Semantic,
        "* queries have different number of columns*",
        "the two sides of {0} have different numbers of columns",
        "select as many columns on both sides; NULL fills one up",
    ),
    phrase(
        Type,
        "Incompatible inputs for Union: Previous inputs were of type *, but got incompatible type * on column '*'",
        "column '{2}' is {1}, and {0} on the other side of UNION",
        "CAST one to the type of the other",
    ),
    phrase(
        Semantic,
        "Too many columns! The subquery should only return one column: *",
        "a subquery in an expression gives one column, and this gives {0}",
        "select one of them",
    ),
    phrase(
        Semantic,
        "Inconsistent data length across values list: got * values in row * but expected *",
        "the rows of VALUES have different numbers of values: {2}, and then {0}",
        "fill it up with NULL",
    ),
    phrase(
        Type,
        "Inconsistent data type across values list at row * column *. Was * but found *",
        "a column of VALUES has one type, and this is {2} and then {3}",
        "CAST the values to one type",
    ),
    phrase(
        Semantic,
        "Source table contains * columns but only * names given as column alias",
        "AS names {1} of {0} columns",
        "name all of them, or none",
    ),
    phrase(
        Semantic,
        "Column in * must be in GROUP BY or an aggregate function: While expanding wildcard, column \"*\" must *",
        "column '{1}' is neither grouped by nor aggregated",
        "add it to GROUP BY, or aggregate it, as in MAX({1})",
    ),
    phrase(
        Semantic,
        "HAVING clause references: * must appear in the GROUP BY clause or be used in an aggregate function",
        "HAVING sees what is grouped by or aggregated, and {0} is neither",
        "filter rows with WHERE, before they are grouped",
    ),
    phrase(
        Semantic,
        "Aggregate functions are not allowed in the WHERE clause*",
        "WHERE looks at single rows, and an aggregate is made of many",
        "move the condition to HAVING",
    ),
    phrase(
        Semantic,
        "Aggregate function calls cannot be nested: '*(*' is nested inside '*(*'",
        "an aggregate of an aggregate: '{0}' inside of '{2}'",
        "aggregate in a subquery first",
    ),
    phrase(
        Semantic,
        "Cannot find column with position * in SELECT clause. Valid columns: 1 to *",
        "GROUP BY {0}: there are {1} columns to choose from",
        "write the column's name",
    ),
    phrase(
        Semantic,
        "Order by column out of bounds, specified: *, max: *",
        "ORDER BY {0}: there are {1} columns to choose from",
        "write the column's name",
    ),
    phrase(
        Semantic,
        "LIMIT must be >= 0, '*' was provided",
        "LIMIT {0}: there is no such number of rows",
        "write 0 or more",
    ),
    phrase(
        Semantic,
        "OFFSET must be >=0, '*' was provided",
        "OFFSET {0}: there is no such number of rows",
        "write 0 or more",
    ),
    phrase(
        Semantic,
        "Argument * to grouping function is not in grouping columns *",
        "GROUPING takes what is grouped by ({1}), and {0} is not",
        "add it to GROUP BY",
    ),
    phrase(
        Name,
        "Field * not found in struct",
        "the row has no field '{0}'",
        "DESCRIBE the table to see its fields",
    ),
    phrase(
        Name,
        "Projections require unique expression names but the expression \"*\" at position * and \"*\" at position * have the \
         same name*",
        "column '{0}' is selected twice",
        "give one of them another name with AS",
    ),
    phrase(
        Type,
        "Cannot cast string '*' to value of * type",
        "'{0}' is no {1}",
        "CAST the other values to STRING",
    ),
    phrase(
        Type,
        "ARRAY<*> has no element at a *",
        "the position in '[' ']' of an ARRAY is a number, and this is {1}",
        "the first element is array[1]",
    ),
    phrase(
        Type,
        "MAP<*, *> has no element at a *",
        "the key in '[' ']' of a MAP<{0}, {1}> is {0}, and this is {2}",
        "CAST it to the type of the keys",
    ),
    phrase(
        Type,
        "argument * of ITEM is *, but * is expected*",
        "'[' ']' takes an element of an ARRAY or a MAP, and this is {1}",
        "a part of a STRING is SUBSTRING(string FROM start FOR length)",
    ),
    phrase(
        Unsupported,
        "a * join FOR SYSTEM_TIME AS OF",
        "a {0} join FOR SYSTEM_TIME AS OF",
        "write JOIN or LEFT JOIN",
    ),
    phrase(
        Unsupported,
        "GROUP BY with more than one window",
        "GROUP BY with more than one window",
        "group by the other window in a query over the first one's result",
    ),
    phrase(
        Type,
        "* takes a time attribute and intervals: *",
        "{0} takes a time attribute and intervals",
        "write {1}, where ts is a column with a WATERMARK",
    ),
    phrase(
        Semantic,
        "* does not take * intervals",
        "{0} does not take {1} intervals",
        "write TUMBLE(ts, size), HOP(ts, slide, size) or SESSION(ts, gap)",
    ),
    phrase(
        Semantic,
        "a constant interval of days to seconds was expected in place of *",
        "a window takes a constant interval, and {0} is none",
        "write it as in INTERVAL '10' MINUTE",
    ),
    phrase(
        Semantic,
        "* requires that its size (*) is a multiple of its * (*)",
        "the size of {0} ({1}) is no multiple of its {2} ({3})",
        "choose a {2} of which the size is a multiple",
    ),
    phrase(
        Type,
        "Function '*' failed to match any signature, errors: *. No function matches *",
        "{0}: {1}",
        "CAST the arguments to types that it takes",
    ),
    phrase(
        Type,
        "cannot cast * to *",
        "{0} cannot be CAST to {1}",
        "go by way of STRING, or take a part of it first",
    ),
];

/// What would mend what our own lower layers say without an edit.
const ADVICE: &[(&str, &str)] = &[
    ("option '*' has the value '*', and * was expected*", "write {2}"),
    ("a table of the connector '*' cannot be read*", "read from another table: {0} is for results"),
    ("a table of the connector '*' cannot be written*", "INSERT INTO another table: {0} is for reading"),
    ("there is no * '*'*", "SHOW {0}S lists what there is"),
    ("UNNEST takes an array, a map or a multiset", "split a STRING with SPLIT(string, delimiter)"),
];

/// The error with the edit that its message asks for, where it has none.
pub(super) fn advised(error: SqlError) -> SqlError {
    let advice = ADVICE.iter().find_map(|(said, help)| Some(filled(help, &holes(said, &error.message)?)));
    match advice {
        Some(help) => error.help(help),
        None => error,
    }
}

/// What leads a message without saying anything.
const PREFIXES: [&str; 11] = [
    "Error during planning: ",
    "This feature is not implemented: ",
    "Schema error: ",
    "Execution error: ",
    "Optimizer rule ",
    "Arrow error: ",
    "Cast error: ",
    "Invalid argument error: ",
    "External error: ",
    "Internal error: ",
    "job error: ",
];

/// A message of a lower layer in the user's words.
pub(super) fn translated(said: &str) -> SqlError {
    let text = words::in_sql(&essence(said));
    for phrase in PHRASES {
        if let Some(holes) = holes(phrase.said, &text) {
            return SqlError::new(phrase.kind, filled(phrase.says, &holes)).help(filled(phrase.help, &holes));
        }
    }
    if let Some((message, help)) = text.split_once("; ") {
        return semantic(message).help(help);
    }
    match text.split_once(" is called as ") {
        Some((name, call)) => SqlError::new(Type, format!("{name} does not take these arguments"))
            .help(format!("it is called as {call}")),
        None => advised(semantic(text)),
    }
}

/// What a message says, without the stations that it came through.
fn essence(said: &str) -> String {
    let mut function = "";
    let mut text = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    loop {
        let before = text;
        for prefix in PREFIXES {
            text = text.strip_prefix(prefix).unwrap_or(text);
        }
        if let Some((before, inner)) = text.split_once("' user-defined coercion failed with: ") {
            function = before.rsplit('\'').next().unwrap_or_default();
            text = inner;
        }
        if text == before {
            break;
        }
    }
    if let Some((inner, _)) = text.split_once(" No function matches the given name and argument types") {
        text = inner;
    }
    let text = text.trim_end_matches('.');
    // An element has signs in place of a name.
    match text.contains(function) || function == "ITEM" {
        true => text.to_owned(),
        false => format!("{function}: {text}"),
    }
}

/// What the stars of a pattern stand for, where a text is of its form.
fn holes<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut pieces = pattern.split('*');
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut found = Vec::new();
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let at = match (pieces.peek().is_none(), piece.is_empty()) {
            (true, true) => rest.len(),
            (true, false) => rest.strip_suffix(piece)?.len(),
            (false, _) => rest.find(piece)?,
        };
        found.push(&rest[..at]);
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty().then_some(found)
}

fn filled(pattern: &str, holes: &[&str]) -> String {
    holes
        .iter()
        .enumerate()
        .fold(pattern.to_owned(), |text, (i, hole)| text.replace(&format!("{{{i}}}"), hole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        assert_eq!(holes("a * c", "a b c"), Some(vec!["b"]));
        assert_eq!(holes("* c *", "a c d c"), Some(vec!["a", "d c"]));
        assert_eq!(holes("a*", "a"), Some(vec![""]));
        assert_eq!(holes("a", "ab"), None);
        assert_eq!(holes("a*b", "ac"), None);
        assert_eq!(holes("*é*", "aéé"), Some(vec!["a", "é"]));
    }

    #[test]
    fn stations_are_left_out() {
        let said = "Execution error: Function 'ABS' user-defined coercion failed with: Error during planning: ABS takes 1 \
                    argument, 2 given; it is called as ABS(x). No function matches the given name and argument types \
                    'ABS(Int64, Utf8View)'. You might need to add explicit type casts.";
        let error = translated(said);
        assert_eq!(error.message, "ABS takes 1 argument, 2 given");
        assert_eq!(error.help.as_deref(), Some("it is called as ABS(x)"));
    }
}
