//! The shapes that queries and expressions come out in, as `normalize` promises them: written down by hand.

use flugs_sql_parser::parse_statement;
use flugs_sql_parser::{
    Hint, HintTarget, Interval, Query, Statement, TableArgument, WindowKind, WindowTvf, cast_type, cast_unit,
    interval_of,
};
use sqlparser::ast::{BinaryOperator, Expr, SelectItem, SetExpr, TableFactor, TableVersion};

#[track_caller]
fn query(text: &str) -> Query {
    match parse_statement(text) {
        Ok(parsed) => match parsed.statement {
            Statement::Query(query) => query,
            other => panic!("{other:?}"),
        },
        Err(e) => panic!("{}", e.render(text)),
    }
}

/// An expression comes out as the other text, as the tree displays itself.
#[track_caller]
fn shape(text: &str, expected: &str) {
    assert_eq!(query(&format!("SELECT {text}")).ast.to_string(), format!("SELECT {expected}"));
}

#[track_caller]
fn same(text: &str) {
    assert_eq!(query(text).ast.to_string(), text);
}

#[track_caller]
fn rewritten(text: &str, expected: &str) {
    assert_eq!(query(text).ast.to_string(), expected);
}

#[track_caller]
fn factor(text: &str) -> TableFactor {
    let SetExpr::Select(select) = *query(text).ast.body else { panic!("no select") };
    select.from.into_iter().next().expect("a table").relation
}

#[track_caller]
fn expression(text: &str) -> Expr {
    let SetExpr::Select(select) = *query(&format!("SELECT {text}")).ast.body else { panic!("no select") };
    match select.projection.into_iter().next() {
        Some(SelectItem::UnnamedExpr(expr)) => expr,
        other => panic!("{other:?}"),
    }
}

#[test]
fn literals() {
    shape("'it''s', e'a\\nb', U&'\\0041', N'x'", "'it''s', 'a\nb', 'A', 'x'");
    shape("X'45F0', 1.5e3, TRUE, NULL", "X'45F0', 1.5e3, true, NULL");
    shape("DATE '2024-02-29'", "CAST('2024-02-29' AS flink(DATE))");
    shape("TIME '10:00:00.12'", "CAST('10:00:00.12' AS flink(TIME(2)))");
    shape("TIMESTAMP '2024-02-29 10:00:00'", "CAST('2024-02-29 10:00:00' AS flink(TIMESTAMP(0)))");
}

#[test]
fn intervals() {
    for (text, length) in [
        ("INTERVAL '10' SECOND", Interval::Millis(10_000)),
        ("INTERVAL '10' SECONDS", Interval::Millis(10_000)),
        ("INTERVAL -'1.5' SECOND(2, 3)", Interval::Millis(-1_500)),
        ("INTERVAL '-1' DAY", Interval::Millis(-86_400_000)),
        ("INTERVAL - '-1' DAY(3)", Interval::Millis(86_400_000)),
        ("INTERVAL '1-2' YEAR TO MONTH", Interval::Months(14)),
        ("INTERVAL '-1-2' YEAR(4) TO MONTH", Interval::Months(-14)),
        ("INTERVAL '3' QUARTER", Interval::Months(9)),
        ("INTERVAL '2' WEEK", Interval::Millis(14 * 86_400_000)),
        ("INTERVAL '10 00:00:01.5' DAY TO SECOND(3)", Interval::Millis(864_001_500)),
        ("INTERVAL '10 01' DAY TO HOUR", Interval::Millis(867_600_000)),
        ("INTERVAL '1:30' HOUR TO MINUTE", Interval::Millis(5_400_000)),
    ] {
        assert_eq!(interval_of(&expression(text)), Some(length), "{text}");
    }
    assert_eq!(interval_of(&expression("'1'")), None);
}

#[test]
fn differences_with_units() {
    shape(
        "(a - b) DAY TO SECOND(3), (a - b) month",
        "interval_between('SECOND', b, a), interval_between('MONTH', b, a)",
    );
    shape("a + (a - b) SECOND * 2 > c", "a + interval_between('SECOND', b, a) * 2 > c");
    shape("(a - b) `SECOND`, f(a) `YEAR`", "(a - b) AS `SECOND`, f(a) AS `YEAR`");
}

#[test]
fn casts_carry_flinks_types() {
    for (text, shown) in [
        ("CAST(a AS ROW<x INT, y ARRAY<STRING>>)", "ROW<`x` INT, `y` ARRAY<STRING>>"),
        ("TRY_CAST(a AS TIMESTAMP(3) WITH LOCAL TIME ZONE)", "TIMESTAMP_LTZ(3)"),
        ("cast(a as map<string, decimal(10, 2)>)", "MAP<STRING, DECIMAL(10, 2)>"),
    ] {
        let Expr::Cast { data_type, .. } = expression(text) else { panic!("{text}") };
        assert_eq!(cast_type(&data_type).unwrap().to_string(), shown);
        assert_eq!(cast_unit(&data_type), None);
    }
    for (text, unit) in [
        ("CAST(a AS INTERVAL day)", Some("DAY")),
        ("CAST(a AS INTERVAL YEAR TO MONTH)", None),
        ("CAST(a AS INTERVAL DAY(3))", None),
    ] {
        let Expr::Cast { data_type, .. } = expression(text) else { panic!("{text}") };
        assert_eq!(cast_unit(&data_type), unit, "{text}");
    }
}

#[test]
fn constructors_and_access() {
    shape("ARRAY[1, 2], ARRAY[], MAP['a', 1], MAP[]", "array(1, 2), array(), map('a', 1), map()");
    shape("ROW(a, 1), (a, b) IN (SELECT c, d FROM t)", "row(a, 1), row(a, b) IN (SELECT c, d FROM t)");
    shape("(a, b) IN ((1, 2), (3, 4))", "row(a, b) IN (row(1, 2), row(3, 4))");
    shape("a[1], m['k'], t.c[i + 1].f", "item(a, 1), item(m, 'k'), get_field(item(t.c, i + 1), 'f')");
    shape("f(x).y.z, (r).a", "get_field(get_field(f(x), 'y'), 'z'), get_field((r), 'a')");
    shape("a.b.c, `a``b`.`c d`", "a.b.c, `a``b`.`c d`");
    rewritten("SELECT r.*, t.r.*, f(x).* FROM t", "SELECT r.*, t.r.*, f(x).* FROM t");
}

#[test]
fn special_functions() {
    shape("FLOOR(t TO HOUR), floor(x), CEIL(t TO days)", "floor(t, 'HOUR'), floor(x), ceil(t, 'DAY')");
    shape("CEILING(x)", "ceil(x)");
    shape("EXTRACT(YEAR FROM t)", "extract('YEAR', t)");
    shape("TIMESTAMPADD(MINUTE, 3, t)", "timestampadd('MINUTE', 3, t)");
    shape("TIMESTAMPDIFF(SQL_TSI_DAY, a, b)", "timestampdiff('DAY', a, b)");
    shape("POSITION('a' IN s)", "position('a', s)");
    shape("OVERLAY(s PLACING 'x' FROM 2)", "overlay(s, 'x', 2)");
    shape("OVERLAY(s PLACING 'x' FROM 2 FOR 3)", "overlay(s, 'x', 2, 3)");
    shape("TRIM(s), TRIM('x' FROM s), TRIM(BOTH FROM s)", "btrim(s), btrim(s, 'x'), btrim(s)");
    shape("TRIM(LEADING 'x' FROM s), TRIM(TRAILING 'y' FROM s)", "ltrim(s, 'x'), rtrim(s, 'y')");
    shape(
        "SUBSTRING(s FROM 2 FOR 3), SUBSTRING(s, 2), SUBSTR(s, 1, 2)",
        "substring(s, 2, 3), substring(s, 2), substr(s, 1, 2)",
    );
    shape("Count(*), `Count`(x), a.b.F(x)", "count(*), `Count`(x), a.b.F(x)");
    shape(
        "CURRENT_TIMESTAMP, LOCALTIME, NOW(), PROCTIME()",
        "current_timestamp, localtime, now(), proctime()",
    );
    shape("LEFT(s, 1), IF(a, b, c), YEAR(t), MOD(a, 2)", "left(s, 1), if(a, b, c), year(t), mod(a, 2)");
}

#[test]
fn json_functions() {
    shape("JSON_VALUE(j, '$.a')", "json_value(j, '$.a', 'STRING', 'NULL', NULL, 'NULL', NULL)");
    shape(
        "JSON_VALUE(j, '$.a' RETURNING INT DEFAULT 0 ON EMPTY ERROR ON ERROR)",
        "json_value(j, '$.a', 'INT', 'DEFAULT', 0, 'ERROR', NULL)",
    );
    shape("JSON_QUERY(j, '$')", "json_query(j, '$', 'STRING', 'WITHOUT', 'NULL', 'NULL')");
    shape(
        "JSON_QUERY(j, '$' RETURNING ARRAY<STRING> WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR)",
        "json_query(j, '$', 'ARRAY<STRING>', 'CONDITIONAL', 'EMPTY ARRAY', 'EMPTY OBJECT')",
    );
    shape("JSON_QUERY(j, '$' WITH WRAPPER)", "json_query(j, '$', 'STRING', 'UNCONDITIONAL', 'NULL', 'NULL')");
    shape(
        "JSON_EXISTS(j, '$.a'), JSON_EXISTS(j, '$' TRUE ON ERROR)",
        "json_exists(j, '$.a', 'FALSE'), json_exists(j, '$', 'TRUE')",
    );
    shape(
        "JSON_OBJECT(), JSON_OBJECT(KEY 'a' VALUE 1, 'b' VALUE c ABSENT ON NULL)",
        "json_object_null_on_null(), json_object_absent_on_null('a', 1, 'b', c)",
    );
    shape(
        "JSON_ARRAY(), JSON_ARRAY(1, 'x' NULL ON NULL)",
        "json_array_absent_on_null(), json_array_null_on_null(1, 'x')",
    );
    shape("JSON_OBJECTAGG(KEY k VALUE v)", "json_objectagg_null_on_null(k, v)");
    shape(
        "JSON_ARRAYAGG(x NULL ON NULL) FILTER (WHERE x > 1)",
        "json_arrayagg_null_on_null(x) FILTER (WHERE x > 1)",
    );
    shape(
        "a IS JSON, b IS NOT JSON OBJECT, c IS JSON SCALAR",
        "is_json_value(a), NOT is_json_object(b), is_json_scalar(c)",
    );
}

#[test]
fn operators() {
    shape(
        "a IS NOT TRUE, b IS UNKNOWN, c IS DISTINCT FROM d",
        "a IS NOT TRUE, b IS UNKNOWN, c IS DISTINCT FROM d",
    );
    shape("a BETWEEN ASYMMETRIC 1 AND 2", "a BETWEEN 1 AND 2");
    shape("a BETWEEN SYMMETRIC 2 AND 1 AND b", "(a BETWEEN 2 AND 1 OR a BETWEEN 1 AND 2) AND b");
    shape("a NOT BETWEEN SYMMETRIC 2 AND 1", "(a NOT BETWEEN 2 AND 1 AND a NOT BETWEEN 1 AND 2)");
    shape(
        "a SIMILAR TO 'x%', a NOT SIMILAR TO 'x' ESCAPE '!'",
        "similar_to(a, 'x%'), NOT similar_to(a, 'x', '!')",
    );
    shape("(a, b) OVERLAPS (c, INTERVAL '1' DAY)", "overlaps(a, b, c, INTERVAL '86400000' MILLISECOND)");
    shape("a LIKE 'x!%' ESCAPE '!', a || b, a % 2, -a", "a LIKE 'x!%' ESCAPE '!', a || b, a % 2, -a");
    shape("NOT a = b AND c != d OR e", "NOT a = b AND c <> d OR e");
    shape("a = ANY (SELECT b FROM t)", "a = ANY(SELECT b FROM t)");
    shape("CASE a WHEN 1 THEN 'x' ELSE 'y' END", "CASE a WHEN 1 THEN 'x' ELSE 'y' END");
}

#[test]
fn long_chains_are_balanced() {
    let chain = (0..900).map(|i| format!("a = {i}")).collect::<Vec<_>>().join(" OR ");
    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            _ => 0,
        }
    }
    let balanced = expression(&chain);
    assert_eq!(balanced.to_string(), chain);
    assert!(depth(&balanced) <= 12, "{}", depth(&balanced));
}

#[test]
fn aggregates_and_windows() {
    same(
        "SELECT listagg(x, ','), count(DISTINCT x) FILTER (WHERE y > 1) FROM t GROUP BY z HAVING count(*) > 1",
    );
    same("SELECT percentile(x) WITHIN GROUP (ORDER BY x DESC) FROM t");
    same("SELECT sum(x) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM t");
    same("SELECT sum(x) OVER w FROM t WINDOW w AS (PARTITION BY k ORDER BY ts)");
    same("SELECT lag(x, 1) OVER (ORDER BY ts) FROM t QUALIFY row_number() OVER (ORDER BY x) = 1");
    same("SELECT a FROM t GROUP BY GROUPING SETS ((a, b), (a), ())");
    same("SELECT a FROM t GROUP BY ROLLUP (a, b), CUBE (c, d)");
    rewritten("SELECT a FROM t GROUP BY (a, b), c", "SELECT a FROM t GROUP BY a, b, c");
    rewritten("SELECT 1 FROM t GROUP BY ()", "SELECT 1 FROM t GROUP BY GROUPING SETS (())");
    rewritten(
        "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR), HOP_ROWTIME(ts, INTERVAL '1' SECOND, INTERVAL '2' SECOND) FROM t \
         GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
        "SELECT tumble_start(ts, INTERVAL '3600000' MILLISECOND), \
         hop_rowtime(ts, INTERVAL '1000' MILLISECOND, INTERVAL '2000' MILLISECOND) FROM t \
         GROUP BY tumble(ts, INTERVAL '3600000' MILLISECOND)",
    );
}

#[test]
fn queries() {
    same("WITH a AS (SELECT 1), b (x) AS (SELECT 2) SELECT * FROM a, b");
    same(
        "SELECT DISTINCT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a) AND b NOT IN (SELECT c FROM v)",
    );
    same("SELECT a FROM t UNION ALL SELECT b FROM u EXCEPT ALL SELECT c FROM v INTERSECT SELECT d FROM w");
    same("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (x, y)");
    same("SELECT a FROM t ORDER BY a DESC NULLS LAST, b LIMIT 10 OFFSET 5");
    same("SELECT * FROM a NATURAL JOIN b LEFT JOIN c USING(x) FULL JOIN d ON a.x = d.x CROSS JOIN e");
    same("SELECT * FROM (a JOIN b ON a.x = b.x) JOIN c ON true");
    same("SELECT (SELECT max(x) FROM t) AS m");
    same("TABLE t");
    same("VALUES (1), (2)");
    rewritten(
        "SELECT a FROM t OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY",
        "SELECT a FROM t LIMIT 3 OFFSET 2 ROWS",
    );
    rewritten("SELECT a FROM t FETCH FIRST ROW ONLY", "SELECT a FROM t LIMIT 1");
    same("SELECT a AS top, b AS sample FROM t AS start WHERE format = settings");
    same("SELECT `value`, `day`, key, name, state FROM t AS connect");
}

#[test]
fn joins_with_table_functions() {
    same("SELECT * FROM t, LATERAL split(x) AS s (a, b)");
    rewritten(
        "SELECT * FROM t, LATERAL TABLE(Split(x)) AS s(a, b)",
        "SELECT * FROM t, LATERAL split(x) AS s (a, b)",
    );
    rewritten(
        "SELECT * FROM t LEFT JOIN LATERAL TABLE(f(t.x)) AS s(a) ON TRUE",
        "SELECT * FROM t LEFT JOIN LATERAL f(t.x) AS s (a) ON true",
    );
    rewritten("SELECT * FROM TABLE(F(1))", "SELECT * FROM TABLE(f(1))");
    rewritten("SELECT * FROM F(1) AS t", "SELECT * FROM TABLE(f(1)) AS t");
    let SetExpr::Select(select) =
        *query("SELECT * FROM o CROSS JOIN UNNEST(o.a) WITH ORDINALITY AS t (x, i)").ast.body
    else {
        panic!()
    };
    let TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } = &select.from[0].joins[0].relation
    else {
        panic!("{:?}", select.from)
    };
    assert_eq!(alias.as_ref().unwrap().to_string(), "AS t (x, i)");
    assert_eq!((array_exprs[0].to_string().as_str(), *with_ordinality), ("o.a", true));
}

#[test]
fn temporal_joins() {
    let SetExpr::Select(select) =
        *query("SELECT * FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts AS r1 ON o.c = r1.c").ast.body
    else {
        panic!()
    };
    let TableFactor::Table { version: Some(TableVersion::ForSystemTimeAsOf(at)), alias, .. } =
        &select.from[0].joins[0].relation
    else {
        panic!("{:?}", select.from)
    };
    assert_eq!((at.to_string().as_str(), alias.as_ref().unwrap().name.value.as_str()), ("o.ts", "r1"));
    same("SELECT * FROM o LEFT JOIN r FOR SYSTEM_TIME AS OF o.proc ON o.c = r.c");
}

#[test]
fn window_table_functions() {
    let tumble = WindowKind::Tumble { size_ms: 600_000 };
    for (text, kind, offset_ms) in [
        ("TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES))", tumble, 0),
        (
            "TABLE(tumble(TABLE t, descriptor(ts), INTERVAL '10' MINUTE, INTERVAL '-1' MINUTE))",
            tumble,
            -60_000,
        ),
        ("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE)", tumble, 0),
        (
            "TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTE))",
            tumble,
            0,
        ),
        (
            "TABLE(TUMBLE(SIZE => INTERVAL '10' MINUTE, `OFFSET` => INTERVAL '1' SECOND, TIMECOL => DESCRIPTOR(ts), DATA => TABLE t))",
            tumble,
            1000,
        ),
        (
            "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))",
            WindowKind::Hop { slide_ms: 5_000, size_ms: 10_000 },
            0,
        ),
        (
            "TABLE(CUMULATE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), STEP => INTERVAL '2' SECOND, SIZE => INTERVAL '10' SECOND))",
            WindowKind::Cumulate { step_ms: 2_000, size_ms: 10_000 },
            0,
        ),
        (
            "TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND))",
            WindowKind::Session { gap_ms: 5_000 },
            0,
        ),
    ] {
        let factor = factor(&format!("SELECT * FROM {text} AS w"));
        let window = WindowTvf::of(&factor).unwrap_or_else(|| panic!("{text}: {factor:?}"));
        assert_eq!((window.kind, window.offset_ms), (kind, offset_ms), "{text}");
        assert_eq!((window.input.to_string().as_str(), window.time_column.to_string().as_str()), ("t", "ts"));
        assert_eq!(window.alias.unwrap().name.value, "w");
    }
    let factor1 = factor(
        "SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY (k, l), DESCRIPTOR(ts), INTERVAL '5' SECOND))",
    );
    let keys: Vec<String> =
        WindowTvf::of(&factor1).unwrap().partition_by.iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["k", "l"]);
    let factor2 = factor(
        "SELECT * FROM TABLE(TUMBLE((SELECT * FROM x), DESCRIPTOR(ts), INTERVAL '5' SECOND))"
            .replace("(SELECT * FROM x)", "TABLE (SELECT * FROM x)")
            .as_str(),
    );
    assert!(matches!(WindowTvf::of(&factor2).unwrap().input, TableFactor::Derived { alias: None, .. }));
    let factor3 = factor("SELECT * FROM f(TABLE t PARTITION BY k ORDER BY ts DESC, x => 1)");
    let TableFactor::TableFunction { expr: Expr::Function(call), .. } = &factor3 else {
        panic!("{factor3:?}")
    };
    assert_eq!(call.to_string(), "f(table_argument((SELECT * FROM t), k ORDER BY ts DESC), x => 1)");
    let sqlparser::ast::FunctionArguments::List(list) = &call.args else { panic!() };
    let sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(argument)) = &list.args[0]
    else {
        panic!()
    };
    let argument = TableArgument::of(argument).unwrap();
    assert_eq!(
        (argument.input.to_string().as_str(), argument.partition_by.len(), argument.order_by.len()),
        ("t", 1, 1)
    );
}

#[test]
fn hints_find_their_table_and_select() {
    let text = "SELECT /*+ STATE_TTL('o' = '1d', 'c'='2d'), BROADCAST(c) */ *\n\
                FROM orders /*+ OPTIONS('scan.startup.mode'='earliest') */ AS o\n\
                JOIN db.c /*+ LOOKUP('table'='c', 'async'='true') */ ON o.id = c.id";
    let query = query(text);
    let SetExpr::Select(select) = &*query.ast.body else { panic!() };
    let of_select: Vec<&Hint> = query.hints.of_select(select).collect();
    assert_eq!(of_select.iter().map(|h| h.name.as_str()).collect::<Vec<_>>(), ["STATE_TTL", "BROADCAST"]);
    assert_eq!((of_select[0].options[1].key.as_str(), of_select[0].options[1].value.as_str()), ("c", "2d"));
    assert_eq!(of_select[1].arguments, ["c"]);
    let TableFactor::Table { name, .. } = &select.from[0].relation else { panic!() };
    let options = query.hints.of_table(name).next().unwrap();
    assert_eq!(
        (options.name.as_str(), options.span.start.line, options.span.start.column),
        ("OPTIONS", 2, 17)
    );
    assert_eq!(
        (options.options[0].value_span.start.column, options.options[0].value_span.end.column),
        (45, 55)
    );
    let TableFactor::Table { name, .. } = &select.from[0].joins[0].relation else { panic!() };
    assert_eq!(query.hints.of_table(name).next().unwrap().name, "LOOKUP");
    assert_eq!(query.text, text);
}

#[test]
fn hints_of_window_inputs_and_of_insert_targets() {
    let text =
        "SELECT * FROM TABLE(TUMBLE(TABLE t /*+ OPTIONS('a'='b') */, DESCRIPTOR(ts), INTERVAL '1' SECOND))";
    let query = query(text);
    let SetExpr::Select(select) = &*query.ast.body else { panic!() };
    let window = WindowTvf::of(&select.from[0].relation).unwrap();
    let TableFactor::Table { name, .. } = window.input else { panic!() };
    assert_eq!(query.hints.of_table(name).count(), 1);
    let parsed =
        parse_statement("INSERT INTO s /*+ OPTIONS('x'='y') */ (a) SELECT a FROM t /*+ OPTIONS('z'='1') */")
            .unwrap();
    let Statement::Insert(insert) = parsed.statement else { panic!() };
    assert_eq!((insert.hints.len(), insert.source.hints.0.len()), (1, 1));
    assert!(matches!(insert.hints[0].target, HintTarget::Table(_)));
}

#[test]
fn match_recognize_is_kept() {
    let query = query(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x, LAST(B.ts) AS e ONE ROW PER MATCH \
         AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+? C{2,3}) WITHIN INTERVAL '1' HOUR DEFINE A AS A.x > 1, B AS B.x < 2) AS m",
    );
    assert_eq!(query.match_within.iter().map(|(_, i)| *i).collect::<Vec<_>>(), [Interval::Millis(3_600_000)]);
    let SetExpr::Select(select) = &*query.ast.body else { panic!() };
    assert!(
        matches!(&select.from[0].relation, TableFactor::MatchRecognize { symbols, .. } if symbols.len() == 2)
    );
}

#[test]
fn distinct_from_ends_where_a_comparison_ends() {
    let and = expression("a IS NOT DISTINCT FROM FALSE AND b = 2");
    let Expr::BinaryOp { left, op, .. } = and else { panic!("{and:?}") };
    assert_eq!((left.to_string().as_str(), op), ("a IS NOT DISTINCT FROM false", BinaryOperator::And));
    let or = expression("c OR a IS DISTINCT FROM b + 1 OR d");
    let Expr::BinaryOp { left, right, .. } = or else { panic!("{or:?}") };
    assert_eq!(
        (left.to_string().as_str(), right.to_string().as_str()),
        ("c OR a IS DISTINCT FROM b + 1", "d")
    );
    let equal = expression("a = b IS DISTINCT FROM c");
    let Expr::BinaryOp { right, .. } = equal else { panic!("{equal:?}") };
    assert_eq!(right.to_string(), "b IS DISTINCT FROM c");
}
