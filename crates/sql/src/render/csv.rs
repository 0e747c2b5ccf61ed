//! Lines of CSV, as RFC 4180 has them.

/// A line of these cells without its end.
pub(super) fn line(cells: impl Iterator<Item = Option<String>>) -> String {
    let mut line = String::new();
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            line.push(',');
        }
        match cell {
            None => {}
            Some(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                line.push('"');
                line.push_str(&text.replace('"', "\"\""));
                line.push('"');
            }
            Some(text) => line.push_str(&text),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_cells_that_need_it_are_quoted() {
        let cells = [Some("a"), None, Some(""), Some("b,\"c\""), Some("1 2")];
        let line = super::line(cells.into_iter().map(|c| c.map(str::to_owned)));
        assert_eq!(line, "a,,\"\",\"b,\"\"c\"\"\",1 2");
    }
}
