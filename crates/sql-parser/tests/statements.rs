//! Every statement of the dialect, in each of its forms.

use flugs_sql_parser::*;

#[track_caller]
fn parse(text: &str) -> Statement {
    parse_statement(text).unwrap_or_else(|e| panic!("{}", e.render(text))).statement
}

#[track_caller]
fn create(text: &str) -> CreateTable {
    match parse(text) {
        Statement::CreateTable(table) => *table,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn alter(text: &str) -> AlterTableAction {
    match parse(text) {
        Statement::AlterTable(alter) => alter.action,
        other => panic!("{other:?}"),
    }
}

fn names(idents: &[Ident]) -> Vec<&str> {
    idents.iter().map(|ident| ident.value.as_str()).collect()
}

fn pairs(options: &[OptionEntry]) -> Vec<(&str, &str)> {
    options.iter().map(|o| (o.key.as_str(), o.value.as_str())).collect()
}

#[test]
fn create_table_has_all_kinds_of_columns() {
    let table = create(
        "CREATE TEMPORARY TABLE IF NOT EXISTS c.d.`t``x` (\n\
           id BIGINT NOT NULL COMMENT 'the ''id''',\n\
           cost AS price * 2.0 COMMENT 'twice',\n\
           `offset` BIGINT METADATA VIRTUAL,\n\
           ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',\n\
           price DECIMAL(10, 2),\n\
           nested ROW<a INT, b ARRAY<STRING>>,\n\
           WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,\n\
           CONSTRAINT pk PRIMARY KEY (id, price) NOT ENFORCED\n\
         ) COMMENT 'a table' DISTRIBUTED BY HASH(id) INTO 4 BUCKETS PARTITIONED BY (price, id)\n\
         WITH ('connector' = 'kafka', 'topic' = 'it''s')",
    );
    assert_eq!(table.name.to_string(), "`c`.`d`.`t``x`");
    assert!(table.temporary && table.if_not_exists && !table.or_replace);
    let columns = &table.spec.columns;
    assert_eq!(columns[0].comment.as_deref(), Some("the 'id'"));
    assert!(matches!(&columns[0].kind, ColumnKind::Physical(t) if t.to_string() == "BIGINT NOT NULL"));
    assert!(matches!(&columns[1].kind, ColumnKind::Computed(e) if e.text == "price * 2.0"));
    assert!(matches!(&columns[2].kind, ColumnKind::Metadata { key: None, is_virtual: true, .. }));
    assert!(
        matches!(&columns[3].kind, ColumnKind::Metadata { key: Some(k), is_virtual: false, .. } if k == "timestamp")
    );
    assert!(
        matches!(&columns[5].kind, ColumnKind::Physical(t) if t.to_string() == "ROW<`a` INT, `b` ARRAY<STRING>>")
    );
    let watermark = table.spec.watermark.unwrap();
    assert_eq!((watermark.column.to_string().as_str(), watermark.span.start.line), ("`ts`", 8));
    let key = table.spec.primary_key.unwrap();
    assert_eq!((key.name.unwrap().value.as_str(), names(&key.columns)), ("pk", vec!["id", "price"]));
    let distribution = table.distribution.unwrap();
    assert_eq!((distribution.kind, distribution.buckets), (DistributionKind::Hash, Some(4)));
    assert_eq!(names(&table.partitioned_by), ["price", "id"]);
    assert_eq!(pairs(&table.options), [("connector", "kafka"), ("topic", "it's")]);
    assert_eq!(table.comment.as_deref(), Some("a table"));
}

#[test]
fn create_table_like_and_as() {
    let table = create(
        "CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) WITH ('k'='v') LIKE u (EXCLUDING ALL, INCLUDING OPTIONS OVERWRITING WATERMARKS)",
    );
    let like = table.like.unwrap();
    assert_eq!(like.table.to_string(), "`u`");
    let option = |behaviour, target| LikeOption { behaviour, target };
    assert_eq!(
        like.options,
        [
            option(LikeBehaviour::Excluding, LikeTarget::All),
            option(LikeBehaviour::Including, LikeTarget::Options),
            option(LikeBehaviour::Overwriting, LikeTarget::Watermarks),
        ]
    );
    let table = create("CREATE OR REPLACE TABLE t (b, a) WITH ('k'='v') AS SELECT a, b FROM u");
    assert_eq!((names(&table.column_order), table.or_replace), (vec!["b", "a"], true));
    assert_eq!(table.query.unwrap().text, "SELECT a, b FROM u");
    assert!(create("REPLACE TABLE t AS SELECT 1").or_replace);
    assert!(create("CREATE TABLE t").spec.columns.is_empty());
    let table = create("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT) DISTRIBUTED INTO 3 BUCKETS");
    assert_eq!(names(&table.spec.primary_key.unwrap().columns), ["a"]);
    assert_eq!(table.distribution.unwrap().kind, DistributionKind::Unknown);
}

#[test]
fn other_objects_are_created() {
    let Statement::CreateView(view) =
        parse("CREATE TEMPORARY VIEW IF NOT EXISTS v (a COMMENT 'x', b) COMMENT 'c' AS SELECT 1, 2")
    else {
        panic!()
    };
    assert_eq!(
        (view.columns.len(), view.columns[0].1.as_deref(), view.comment.as_deref()),
        (2, Some("x"), Some("c"))
    );
    assert_eq!(view.query.text, "SELECT 1, 2");
    let Statement::CreateFunction(f) = parse(
        "CREATE TEMPORARY SYSTEM FUNCTION f AS 'a.B' LANGUAGE PYTHON USING JAR 'x', ARTIFACT 'y' WITH ('k' = 'v')",
    ) else {
        panic!()
    };
    assert!(f.temporary && f.system && f.language == Some(FunctionLanguage::Python));
    assert_eq!(
        (f.class.as_str(), f.resources[1].kind, f.resources[1].uri.as_str()),
        ("a.B", ResourceKind::Artifact, "y")
    );
    let Statement::CreateCatalog(c) =
        parse("CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type' = 'memory')")
    else {
        panic!()
    };
    assert_eq!(
        (c.name.value.as_str(), c.if_not_exists, pairs(&c.options)),
        ("c", true, vec![("type", "memory")])
    );
    let Statement::CreateDatabase(d) = parse("create database c.d with ('a'='b')") else { panic!() };
    assert_eq!(d.name.to_string(), "`c`.`d`");
}

#[test]
fn tables_are_altered() {
    assert!(
        matches!(alter("ALTER TABLE IF EXISTS t RENAME TO d.u"), AlterTableAction::Rename(n) if n.to_string() == "`d`.`u`")
    );
    assert!(
        matches!(alter("ALTER TABLE t RENAME a TO b"), AlterTableAction::RenameColumn { to, .. } if to.value == "b")
    );
    assert!(
        matches!(alter("ALTER TABLE t SET ('a'='b')"), AlterTableAction::SetOptions(o) if pairs(&o) == [("a", "b")])
    );
    assert!(
        matches!(alter("ALTER TABLE t RESET ('a', 'b')"), AlterTableAction::ResetOptions(o) if o == ["a", "b"])
    );
    let AlterTableAction::Add(add) = alter(
        "ALTER TABLE t ADD (a INT FIRST, b STRING COMMENT 'c' AFTER a, c AS a + 1, WATERMARK FOR ts AS ts, PRIMARY KEY (a) NOT ENFORCED)",
    ) else {
        panic!()
    };
    assert_eq!((add.columns.len(), add.watermark.is_some(), add.primary_key.is_some()), (3, true, true));
    assert_eq!(add.columns[0].position, Some(ColumnPosition::First));
    assert!(matches!(&add.columns[1].position, Some(ColumnPosition::After(c)) if c.value == "a"));
    assert!(
        matches!(alter("ALTER TABLE t ADD a INT NOT NULL"), AlterTableAction::Add(a) if a.columns.len() == 1)
    );
    assert!(
        matches!(alter("ALTER TABLE t MODIFY WATERMARK FOR ts AS ts"), AlterTableAction::Modify(a) if a.watermark.is_some())
    );
    assert!(
        matches!(alter("ALTER TABLE t MODIFY a BIGINT AFTER b"), AlterTableAction::Modify(a) if a.columns.len() == 1)
    );
    assert!(
        matches!(alter("ALTER TABLE t ADD DISTRIBUTION BY (a)"), AlterTableAction::Add(a) if a.distribution.is_some())
    );
    assert!(
        matches!(alter("ALTER TABLE t DROP (a, b)"), AlterTableAction::DropColumns(c) if names(&c) == ["a", "b"])
    );
    assert!(
        matches!(alter("ALTER TABLE t DROP COLUMN a"), AlterTableAction::DropColumns(c) if names(&c) == ["a"])
    );
    assert_eq!(alter("ALTER TABLE t DROP PRIMARY KEY"), AlterTableAction::DropPrimaryKey);
    assert_eq!(alter("ALTER TABLE t DROP WATERMARK"), AlterTableAction::DropWatermark);
    assert_eq!(alter("ALTER TABLE t DROP DISTRIBUTION"), AlterTableAction::DropDistribution);
    assert!(
        matches!(alter("ALTER TABLE t DROP CONSTRAINT c"), AlterTableAction::DropConstraint(c) if c.value == "c")
    );
    assert!(matches!(
        alter("ALTER TABLE t ADD IF NOT EXISTS PARTITION (a = '1', b = 2) PARTITION (a = '2', b = 3) WITH ('k' = 'v')"),
        AlterTableAction::AddPartitions { if_not_exists: true, partitions } if partitions.len() == 2
    ));
    assert!(matches!(
        alter("ALTER TABLE t DROP IF EXISTS PARTITION (a = '1'), PARTITION (a = '2')"),
        AlterTableAction::DropPartitions { if_exists: true, partitions } if partitions.len() == 2
    ));
}

#[test]
fn other_objects_are_altered_and_dropped() {
    assert!(matches!(
        parse("ALTER VIEW v RENAME TO w"),
        Statement::AlterView(AlterView { action: AlterViewAction::Rename(_), .. })
    ));
    assert!(matches!(
        parse("ALTER VIEW v AS SELECT 1"),
        Statement::AlterView(AlterView { action: AlterViewAction::As(_), .. })
    ));
    assert!(
        matches!(parse("ALTER TEMPORARY SYSTEM FUNCTION IF EXISTS f AS 'x' LANGUAGE SCALA"), Statement::AlterFunction(f) if f.system)
    );
    assert!(
        matches!(parse("ALTER DATABASE d SET ('a'='b')"), Statement::AlterDatabase(d) if d.options.len() == 1)
    );
    for (text, kind) in [
        ("ALTER CATALOG c SET ('a'='b')", 0),
        ("ALTER CATALOG c RESET ('a')", 1),
        ("ALTER CATALOG c COMMENT 'x'", 2),
    ] {
        let Statement::AlterCatalog(alter) = parse(text) else { panic!("{text}") };
        let found = match alter.action {
            CatalogAction::SetOptions(_) => 0,
            CatalogAction::ResetOptions(_) => 1,
            CatalogAction::Comment(_) => 2,
        };
        assert_eq!(found, kind);
    }
    for (text, kind, temporary, if_exists, cascade) in [
        ("DROP TABLE t", DropKind::Table, false, false, false),
        ("DROP TEMPORARY TABLE IF EXISTS t", DropKind::Table, true, true, false),
        ("DROP VIEW v", DropKind::View, false, false, false),
        ("DROP DATABASE d CASCADE", DropKind::Database, false, false, true),
        ("DROP DATABASE d RESTRICT", DropKind::Database, false, false, false),
        ("DROP CATALOG IF EXISTS c", DropKind::Catalog, false, true, false),
        ("DROP TEMPORARY SYSTEM FUNCTION f", DropKind::Function, true, false, false),
    ] {
        let Statement::Drop(drop) = parse(text) else { panic!("{text}") };
        assert_eq!(
            (drop.kind, drop.temporary, drop.if_exists, drop.cascade),
            (kind, temporary, if_exists, cascade),
            "{text}"
        );
    }
}

#[test]
fn inserts() {
    let Statement::Insert(insert) = parse(
        "INSERT OVERWRITE c.d.t PARTITION (day = '2024', `hour` = 3) (a, r.f) SELECT 1, 2"
            .replace("day", "`day`")
            .as_str(),
    ) else {
        panic!()
    };
    assert!(insert.overwrite && insert.partition.len() == 2);
    assert_eq!(insert.columns[1].to_string(), "`r`.`f`");
    let Statement::Insert(insert) = parse("INSERT INTO t (SELECT 1) ON CONFLICT DO DEDUPLICATE") else {
        panic!()
    };
    assert_eq!((insert.columns.len(), insert.conflict), (0, Some(Conflict::Deduplicate)));
    let Statement::Insert(insert) = parse("INSERT INTO t VALUES (1, 'a'), (2, NULL)") else { panic!() };
    assert_eq!(insert.source.ast.to_string(), "VALUES (1, 'a'), (2, NULL)");
    assert!(matches!(parse("INSERT INTO t WITH a AS (SELECT 1) SELECT * FROM a"), Statement::Insert(_)));
    assert!(
        matches!(parse("EXECUTE INSERT INTO t SELECT 1"), Statement::StatementSet(set) if set.len() == 1)
    );
}

#[test]
fn statement_sets() {
    for text in [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT CASE WHEN x THEN 1 END; END;",
        "BEGIN STATEMENT SET; INSERT INTO a SELECT 1;\nINSERT INTO b SELECT 'END;'; END",
    ] {
        let Statement::StatementSet(set) = parse(text) else { panic!("{text}") };
        assert_eq!(set.iter().map(|insert| insert.target.object()).collect::<Vec<_>>(), ["a", "b"]);
    }
    let text = "EXPLAIN CHANGELOG_MODE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END; SELECT 1";
    let parsed = parse_script(text).unwrap();
    let Statement::Explain(explain) = &parsed[0].statement else { panic!() };
    assert_eq!(explain.details, [ExplainDetail::ChangelogMode]);
    assert!(matches!(&*explain.statement, Statement::StatementSet(set) if set.len() == 2));
    assert_eq!(parsed.len(), 2);
}

#[test]
fn explain_and_describe() {
    use ExplainDetail::*;
    for (text, details) in [
        ("EXPLAIN SELECT 1", vec![]),
        ("EXPLAIN PLAN FOR INSERT INTO t SELECT 1", vec![]),
        (
            "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE SELECT 1",
            vec![EstimatedCost, ChangelogMode, JsonExecutionPlan, PlanAdvice],
        ),
        ("EXPLAIN CREATE TABLE t AS SELECT 1", vec![]),
    ] {
        let Statement::Explain(explain) = parse(text) else { panic!("{text}") };
        assert_eq!(explain.details, details);
    }
    for (text, expected) in [
        ("DESCRIBE t", "Table"),
        ("DESC EXTENDED c.d.t", "Table"),
        ("DESCRIBE catalog", "Table"),
        ("DESCRIBE CATALOG EXTENDED c", "Catalog"),
        ("DESC DATABASE d", "Database"),
        ("DESCRIBE FUNCTION EXTENDED f", "Function"),
        ("DESCRIBE JOB 'x'", "Job"),
    ] {
        let Statement::Describe(describe) = parse(text) else { panic!("{text}") };
        assert!(format!("{describe:?}").starts_with(expected), "{text}: {describe:?}");
    }
}

#[test]
fn show() {
    for (text, object) in [
        ("SHOW CATALOGS", ShowObject::Catalogs),
        ("SHOW CURRENT CATALOG", ShowObject::CurrentCatalog),
        ("SHOW DATABASES IN c", ShowObject::Databases),
        ("SHOW CURRENT DATABASE", ShowObject::CurrentDatabase),
        ("SHOW TABLES FROM c.d NOT LIKE 'x%'", ShowObject::Tables),
        ("SHOW VIEWS", ShowObject::Views),
        ("SHOW FUNCTIONS ILIKE 'A%'", ShowObject::Functions { user: false }),
        ("SHOW USER FUNCTIONS", ShowObject::Functions { user: true }),
        ("SHOW FULL MODULES", ShowObject::Modules { full: true }),
        ("SHOW JOBS", ShowObject::Jobs),
        ("SHOW JARS", ShowObject::Jars),
        ("SHOW PROCEDURES", ShowObject::Procedures),
    ] {
        let Statement::Show(show) = parse(text) else { panic!("{text}") };
        assert_eq!(show.object, object, "{text}");
    }
    let Statement::Show(show) = parse("SHOW TABLES IN d NOT ILIKE 'x%'") else { panic!() };
    let filter = show.filter.unwrap();
    assert_eq!((filter.pattern.as_str(), filter.negated, filter.ignore_case), ("x%", true, true));
    assert_eq!(show.from.unwrap().to_string(), "`d`");
    for (text, shown) in [
        ("SHOW COLUMNS FROM t LIKE 'a%'", "`t`"),
        ("SHOW CREATE TABLE d.t", "`d`.`t`"),
        ("SHOW CREATE VIEW v", "`v`"),
        ("SHOW PARTITIONS t PARTITION (a = 1)", "`t`"),
    ] {
        let Statement::Show(show) = parse(text) else { panic!("{text}") };
        let name = match show.object {
            ShowObject::Columns(n)
            | ShowObject::CreateTable(n)
            | ShowObject::CreateView(n)
            | ShowObject::Partitions(n, _) => n,
            other => panic!("{other:?}"),
        };
        assert_eq!(name.to_string(), shown);
    }
}

#[test]
fn settings_and_commands() {
    let set = |key: &str, value: &str| Statement::Set { key: key.to_string(), value: value.to_string() };
    assert_eq!(parse("SET 'a.b' = 'c d'"), set("a.b", "c d"));
    assert_eq!(parse("SET table.exec.mini-batch.size = 5000;"), set("table.exec.mini-batch.size", "5000"));
    assert_eq!(parse("SET a.b = 10 min"), set("a.b", "10 min"));
    assert_eq!(parse("set"), Statement::ShowOptions);
    assert_eq!(parse("RESET"), Statement::Reset(None));
    assert_eq!(parse("RESET 'a.b'"), Statement::Reset(Some("a.b".to_string())));
    assert_eq!(parse("RESET a.b"), Statement::Reset(Some("a.b".to_string())));
    assert!(matches!(parse("USE CATALOG c"), Statement::UseCatalog(c) if c.value == "c"));
    assert!(matches!(parse("USE c.d"), Statement::UseDatabase(d) if d.0.len() == 2));
    let stop = StopJob { id: "x".to_string(), savepoint: true, drain: true };
    assert_eq!(parse("STOP JOB 'x' WITH SAVEPOINT WITH DRAIN"), Statement::StopJob(stop));
    assert_eq!(parse("help;"), Statement::Help);
    assert_eq!(
        (parse("QUIT"), parse("exit"), parse("CLEAR")),
        (Statement::Quit, Statement::Quit, Statement::Clear)
    );
}

#[test]
fn rows_are_changed_in_place() {
    assert!(matches!(parse("TRUNCATE TABLE t"), Statement::Truncate(t) if t.object() == "t"));
    assert!(matches!(parse("DELETE FROM t"), Statement::Delete(Delete { selection: None, .. })));
    assert!(
        matches!(parse("DELETE FROM t WHERE a = 1"), Statement::Delete(d) if d.selection.as_ref().unwrap().text == "a = 1")
    );
    let Statement::Update(update) = parse("UPDATE t SET a = b + 1, c = 'x' WHERE d") else { panic!() };
    assert_eq!((update.assignments.len(), update.assignments[0].1.text.as_str()), (2, "b + 1"));
    let Statement::Analyze(a) =
        parse("ANALYZE TABLE t PARTITION (a, b = 2) COMPUTE STATISTICS FOR COLUMNS x, y")
    else {
        panic!()
    };
    assert_eq!(
        (a.partition.len(), a.partition[0].value.is_none(), names(&a.columns)),
        (2, true, vec!["x", "y"])
    );
    assert!(
        matches!(parse("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS"), Statement::Analyze(a) if a.all_columns)
    );
}

#[test]
fn scripts_are_cut_at_the_right_semicolons() {
    let text = "-- first; not\nSELECT ';' AS `a;b` /* ; */;\n\n;; SELECT 2 ; -- end;\n";
    let pieces = split(text);
    assert_eq!(pieces.iter().map(|p| p.text).collect::<Vec<_>>(), ["SELECT ';' AS `a;b`", "SELECT 2"]);
    assert_eq!((pieces[1].span.start.line, pieces[1].span.start.column), (4, 4));
    assert!(split(" -- nothing\n").is_empty());
}

#[test]
fn statements_before_a_mistake_can_be_run() {
    let pieces = split("SELECT 1; SELCT 2; SELECT 3; SELECT 'x");
    let results: Vec<bool> = pieces.iter().map(|piece| piece.parse().is_ok()).collect();
    assert_eq!(results, [true, false, true, false]);
    let error = pieces[3].parse().unwrap_err();
    assert_eq!(error.span.unwrap().start.column, 37);
    assert_eq!(split("SELECT 1; /* open").len(), 2);
}

#[test]
fn a_shell_knows_when_to_go_on_reading() {
    for text in [
        "",
        "  -- c\n",
        "SELECT 1;",
        "SELECT ';';",
        "quit",
        "HELP",
        "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;",
        "SELCT 1;",
    ] {
        assert!(is_complete(text), "{text}");
    }
    for text in [
        "SELECT 1",
        "SELECT 'a;",
        "SELECT `a;",
        "SELECT 1 /* ;",
        "SELECT 1; SELECT 2",
        "BEGIN STATEMENT SET;",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;",
        "SELECT 1 -- ;",
    ] {
        assert!(!is_complete(text), "{text}");
    }
}

#[test]
fn texts_are_of_the_source_whatever_stands_before() {
    let text = "SELECT 'é語';\r\nCREATE VIEW v AS\r\n  SELECT `x` /* c */ FROM t /*+ OPTIONS('a'='b') */;";
    let parsed = parse_script(text).unwrap();
    let Statement::CreateView(view) = &parsed[1].statement else { panic!() };
    assert_eq!(view.query.text, "SELECT `x` /* c */ FROM t /*+ OPTIONS('a'='b') */");
    assert_eq!((view.query.span.start.line, view.query.span.start.column), (3, 3));
    assert!(parse_script(&view.query.text).is_ok());
}
