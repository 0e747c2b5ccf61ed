//! The rules themselves, on small made-up pages and files.

use super::*;

const PAGE: &str = "\
# Words

| word | meaning |
|------|---------|
| task | a unit  |

| Level | Crate | One sentence | Must not know |
| :---: | --- | --- | --- |
| 0 | `types` | ids \\| time | arrow, tokio |
| 1 | [batch](../crates/batch), **graph** (plain data) | batches | `task`, threads |
| leaf | `connectors/*`, flugs-storage | outside | each other, task |
| top | flugs (facade), xtask | all | - |

After the table.
";

fn member(name: &str, path: &str, dependencies: &[&str]) -> Crate {
    Crate {
        name: name.to_owned(),
        package: if path.contains("crates/") { format!("flugs-{name}") } else { name.to_owned() },
        folder: root().join(path),
        dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn a_page_is_read_as_people_write_it() {
    let table = Table::parse(PAGE).expect("the page has a table");
    let level = |name: &str, path: &str| table.row_of(&member(name, path, &[])).map(|row| row.level.clone());
    assert_eq!(level("types", "crates/types"), Some(Level::Number(0)));
    assert_eq!(level("graph", "crates/graph"), Some(Level::Number(1)));
    assert_eq!(level("batch", "crates/batch"), Some(Level::Number(1)));
    assert_eq!(level("files", "crates/connectors/files"), Some(Level::Leaf));
    assert_eq!(level("storage", "crates/storage"), Some(Level::Leaf));
    assert_eq!(level("xtask", "xtask"), Some(Level::Top));
    assert_eq!(level("task", "crates/task"), None);
    assert!(Table::parse("# Nothing here\n\n| a | b |\n| - | - |\n| 1 | 2 |\n").is_err());
    assert!(Table::parse(&PAGE.replace("| leaf |", "| high |")).is_err());
}

#[test]
fn dependencies_go_down_only() {
    let table = Table::parse(PAGE).expect("the page has a table");
    let complaints = |members: &[Crate]| misplaced(&table, members).join("; ");
    let types = || member("types", "crates/types", &[]);
    let good = [types(), member("batch", "crates/batch", &["flugs-types", "bytes"])];
    assert_eq!(complaints(&good), "");
    let up = [member("types", "crates/types", &["flugs-batch"]), member("batch", "crates/batch", &[])];
    assert!(complaints(&up).contains("types (level 0) uses batch (level 1)"));
    let sideways = [member("batch", "crates/batch", &["flugs-graph"]), member("graph", "crates/graph", &[])];
    assert!(complaints(&sideways).contains("batch (level 1) uses graph (level 1)"));
    let leaves = [
        member("files", "crates/connectors/files", &["flugs-storage"]),
        member("storage", "crates/storage", &["flugs-types"]),
        types(),
    ];
    assert!(complaints(&leaves).contains("files (level leaf) uses storage (level leaf)"));
    assert!(complaints(&[member("none", "crates/none", &[])]).contains("none: no row names it"));
    let forbidden = [member("types", "crates/types", &["tokio"])];
    assert!(complaints(&forbidden).contains("depends on tokio, which it must not know"));
    let ours = [member("graph", "crates/graph", &["flugs-task"])];
    assert!(complaints(&ours).contains("depends on flugs-task, which it must not know"));
}

#[test]
fn names_without_a_crate_are_strangers() {
    let table = Table::parse(PAGE).expect("the page has a table");
    let some = [member("types", "crates/types", &[]), member("files", "crates/connectors/files", &[])];
    assert_eq!(table.strangers(&some), ["batch", "graph", "storage", "flugs", "xtask"]);
}

#[test]
fn unfinished_code_is_found_and_comments_are_not() {
    let marks = |text: String| Source { path: "x.rs".into(), text }.unfinished();
    assert_eq!(marks(format!("//! x\n// {}!()\nfn f() {{ {}!() }}\n", "todo", "todo")), [(3, "todo!")]);
    assert_eq!(marks(format!("a({}!(b));\nlet _ = {}!(\"x\");", "dbg", "unimplemented")).len(), 2);
    assert_eq!(marks("let todo = not_dbg!(1);".to_owned()), []);
    let source = Source { path: "x.rs".into(), text: "use std::fs::File; // std::net\n".to_owned() };
    assert!(source.uses("std::fs") && !source.uses("std::net"));
}
