//! Flink's types.

use crate::cursor::{Step, accept, at, expect, fail, here, number, string};
use crate::expression::TYPE_NAME;
use crate::token::{bare_word, tokenize};
use crate::words;
use flugs_sql_types::{LogicalType, MAX_LENGTH, RowField, SqlType};
use sqlparser::ast::DataType;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token};

/// How deep types may nest.
const DEPTH: usize = 40;

/// The names that a type may begin with.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTES", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT",
    "INTEGER", "INTERVAL", "MAP", "MULTISET", "NUMERIC", "ROW", "SMALLINT", "STRING", "TIME", "TIMESTAMP",
    "TIMESTAMP_LTZ", "TINYINT", "VARBINARY", "VARCHAR",
];

/// What other databases call a type, and Flink's name for it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("BIT", "BOOLEAN"),
    ("BLOB", "BYTES"),
    ("BOOL", "BOOLEAN"),
    ("BYTEA", "BYTES"),
    ("CLOB", "STRING"),
    ("DATETIME", "TIMESTAMP(3)"),
    ("FLOAT4", "FLOAT"),
    ("FLOAT8", "DOUBLE"),
    ("INT2", "SMALLINT"),
    ("INT4", "INT"),
    ("INT64", "BIGINT"),
    ("INT8", "BIGINT"),
    ("JSON", "STRING"),
    ("JSONB", "STRING"),
    ("LONG", "BIGINT"),
    ("NUMBER", "DECIMAL"),
    ("NVARCHAR", "VARCHAR"),
    ("STRUCT", "ROW"),
    ("TEXT", "STRING"),
    ("TIMESTAMPTZ", "TIMESTAMP_LTZ(3)"),
    ("UUID", "STRING"),
    ("VARCHAR2", "VARCHAR"),
];

/// The type that a data type of a cast stands for; none for a data type that did not come from this crate.
pub fn cast_type(data_type: &DataType) -> Option<SqlType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    match (name.0.as_slice(), modifiers.as_slice()) {
        ([part], [text, ..]) if part.as_ident().is_some_and(|ident| ident.value == TYPE_NAME) => {
            parse_type(text).ok()
        }
        _ => None,
    }
}

/// The unit of a cast to `INTERVAL unit`, in upper case; none for other types.
pub fn cast_unit(data_type: &DataType) -> Option<&str> {
    let DataType::Custom(_, modifiers) = data_type else { return None };
    cast_type(data_type).and_then(|_| modifiers.get(1)).map(String::as_str)
}

/// Reads a type, as [`SqlType`] displays it or as it stands in a statement. Errors carry spans in `text`.
pub fn parse_type(text: &str) -> Result<SqlType, crate::SqlError> {
    let tokens = tokenize(text);
    if let Some(error) = tokens.error {
        return Err(error);
    }
    let dialect = crate::dialect::FlinkDialect::for_tokens(tokens.tokens.len());
    let mut p = Parser::new(&dialect).with_tokens_with_locations(tokens.tokens.clone());
    let parsed = parse(&mut p).and_then(|sql_type| match p.peek_token_ref().token {
        Token::EOF => Ok(sql_type),
        _ => p.expected_ref("the end of the type", p.peek_token_ref()),
    });
    parsed.map_err(|e| crate::mistake::explain(e, &tokens.tokens, tokens.tokens.len(), p.index()))
}

/// A type, with `NOT NULL` or `NULL` behind it.
pub(crate) fn parse(p: &mut Parser) -> Step<SqlType> {
    let mut closers = 0;
    let sql_type = nullable_type(p, DEPTH, &mut closers)?;
    match closers {
        0 => Ok(sql_type),
        _ => Err(fail("there is one `>` too many", p.get_current_token().span, "remove a `>`")),
    }
}

/// `closers` counts `>` that a token `>>` has closed beyond the type at hand.
fn nullable_type(p: &mut Parser, depth: usize, closers: &mut usize) -> Step<SqlType> {
    let span = here(p);
    let Some(depth) = depth.checked_sub(1) else {
        return Err(fail("this type is nested too deeply", span, ""));
    };
    let mut sql_type = kind(p, depth, closers)?.nullable();
    if *closers == 0 {
        loop {
            sql_type = match () {
                () if accept(p, &["NOT", "NULL"]) => SqlType { nullable: false, ..sql_type },
                () if accept(p, &["NULL"]) => sql_type,
                () if accept(p, &["ARRAY"]) => LogicalType::Array(Box::new(sql_type)).nullable(),
                () if accept(p, &["MULTISET"]) => LogicalType::Multiset(Box::new(sql_type)).nullable(),
                () => break,
            };
        }
    }
    Ok(sql_type)
}

fn kind(p: &mut Parser, depth: usize, closers: &mut usize) -> Step<LogicalType> {
    let token = p.next_token();
    let word = bare_word(&token.token).unwrap_or_default().to_ascii_uppercase();
    Ok(match word.as_str() {
        "BOOLEAN" => LogicalType::Boolean,
        "TINYINT" => LogicalType::TinyInt,
        "SMALLINT" => LogicalType::SmallInt,
        "INT" | "INTEGER" => LogicalType::Int,
        "BIGINT" => LogicalType::BigInt,
        "FLOAT" => LogicalType::Float,
        "DOUBLE" => {
            let _ = accept(p, &["PRECISION"]);
            LogicalType::Double
        }
        "DECIMAL" | "DEC" | "NUMERIC" => decimal(p)?,
        "STRING" => LogicalType::STRING,
        "BYTES" => LogicalType::BYTES,
        "CHAR" | "CHARACTER" if accept(p, &["VARYING"]) => LogicalType::VarChar(length(p, 1)?),
        "CHAR" | "CHARACTER" => LogicalType::Char(length(p, 1)?),
        "VARCHAR" => LogicalType::VarChar(length(p, 1)?),
        "BINARY" if accept(p, &["VARYING"]) => LogicalType::VarBinary(length(p, 1)?),
        "BINARY" => LogicalType::Binary(length(p, 1)?),
        "VARBINARY" => LogicalType::VarBinary(length(p, 1)?),
        "DATE" => LogicalType::Date,
        "TIME" => {
            let precision = precision(p, 0)?;
            let _ = accept(p, &["WITHOUT", "TIME", "ZONE"]);
            LogicalType::Time(precision)
        }
        "TIMESTAMP" => timestamp(p)?,
        "TIMESTAMP_LTZ" => LogicalType::TimestampLtz(precision(p, 6)?),
        "INTERVAL" => interval(p)?,
        "ARRAY" => LogicalType::Array(Box::new(element(p, depth, closers)?)),
        "MULTISET" => LogicalType::Multiset(Box::new(element(p, depth, closers)?)),
        "MAP" => map(p, depth, closers)?,
        "ROW" => row(p, depth, closers)?,
        "NULL" => LogicalType::Null,
        "RAW" | "STRUCTURED" | "VARIANT" | "BITMAP" | "DESCRIPTOR" => {
            return Err(fail(format!("the type {word} is not supported"), token.span, ""));
        }
        _ => return unknown(p, &word, token.span),
    })
}

fn unknown<T>(p: &Parser, word: &str, span: Span) -> Step<T> {
    if word.is_empty() {
        return p.expected_ref("a type", p.get_current_token());
    }
    let known = ELSEWHERE.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
    let help = known.or_else(|| words::nearest(word, NAMES.iter().copied()));
    let help = help.map_or(
        "a type is one of BIGINT, STRING, DECIMAL(p, s), TIMESTAMP(3), ROW<...> ...".to_string(),
        |near| format!("did you mean `{near}`?"),
    );
    Err(fail(format!("there is no type `{word}`"), span, help))
}

fn decimal(p: &mut Parser) -> Step<LogicalType> {
    if !p.consume_token(&Token::LParen) {
        return Ok(LogicalType::Decimal(10, 0));
    }
    let start = here(p);
    let digits = number(p, "the number of digits")?;
    let scale = match p.consume_token(&Token::Comma) {
        true => number(p, "the number of digits behind the point")?,
        false => 0,
    };
    let span = start.union(&p.get_current_token().span);
    p.expect_token(&Token::RParen)?;
    match (u8::try_from(digits), u8::try_from(scale)) {
        (Ok(digits @ 1..=38), Ok(scale)) if scale <= digits => Ok(LogicalType::Decimal(digits, scale)),
        _ => Err(fail(
            format!("DECIMAL({digits}, {scale}) is no type"),
            span,
            "a decimal has 1 to 38 digits, of which at most as many stand behind the point",
        )),
    }
}

/// `(n)`.
fn length(p: &mut Parser, default: u32) -> Step<u32> {
    if !p.consume_token(&Token::LParen) {
        return Ok(default);
    }
    let span = here(p);
    let n = number(p, "a length")?;
    p.expect_token(&Token::RParen)?;
    match n {
        1..=MAX_LENGTH => Ok(n),
        _ => Err(fail(format!("{n} is no length"), span, format!("a length is 1 to {MAX_LENGTH}"))),
    }
}

/// `(p)`.
fn precision(p: &mut Parser, default: u8) -> Step<u8> {
    if !p.consume_token(&Token::LParen) {
        return Ok(default);
    }
    let span = here(p);
    let n = number(p, "a precision from 0 to 9")?;
    p.expect_token(&Token::RParen)?;
    match u8::try_from(n) {
        Ok(n @ 0..=9) => Ok(n),
        _ => Err(fail(
            format!("{n} is no precision of a time"),
            span,
            "a precision is 0 to 9 digits behind the second",
        )),
    }
}

fn timestamp(p: &mut Parser) -> Step<LogicalType> {
    let digits = precision(p, 6)?;
    let span = here(p);
    if accept(p, &["WITH", "LOCAL", "TIME", "ZONE"]) {
        return Ok(LogicalType::TimestampLtz(digits));
    }
    if accept(p, &["WITH", "TIME", "ZONE"]) {
        return Err(fail(
            "TIMESTAMP WITH TIME ZONE is not supported",
            span,
            format!("did you mean `TIMESTAMP({digits}) WITH LOCAL TIME ZONE`?"),
        ));
    }
    let _ = accept(p, &["WITHOUT", "TIME", "ZONE"]);
    Ok(LogicalType::Timestamp(digits))
}

/// `INTERVAL unit [(p)] [TO unit [(p)]]`.
fn interval(p: &mut Parser) -> Step<LogicalType> {
    let mut year_month = None;
    loop {
        let span = here(p);
        let of_months = ["YEAR", "QUARTER", "MONTH"].into_iter().any(|unit| accept(p, &[unit]));
        if !of_months
            && !["WEEK", "DAY", "HOUR", "MINUTE", "SECOND"].into_iter().any(|unit| accept(p, &[unit]))
        {
            return p.expected_ref("YEAR, MONTH, DAY, HOUR, MINUTE or SECOND", p.peek_token_ref());
        }
        if p.consume_token(&Token::LParen) {
            number(p, "a precision")?;
            p.expect_token(&Token::RParen)?;
        }
        if *year_month.get_or_insert(of_months) != of_months {
            return Err(fail(
                "an interval is of years and months, or of days to seconds",
                span,
                "write INTERVAL YEAR TO MONTH or INTERVAL DAY TO SECOND",
            ));
        }
        if !accept(p, &["TO"]) {
            break;
        }
    }
    Ok(if year_month == Some(true) { LogicalType::IntervalYearMonth } else { LogicalType::IntervalDaySecond })
}

fn open_angle(p: &mut Parser) -> Step<()> {
    p.expect_token(&Token::Lt).map(|_| ())
}

/// `>`, or the half of a `>>`.
fn close_angle(p: &mut Parser, closers: &mut usize) -> Step<()> {
    if *closers > 0 {
        *closers -= 1;
        return Ok(());
    }
    match p.peek_token_ref().token {
        Token::Gt => p.advance_token(),
        Token::ShiftRight => {
            p.advance_token();
            *closers += 1;
        }
        _ => return p.expected_ref("`>`", p.peek_token_ref()),
    }
    Ok(())
}

fn element(p: &mut Parser, depth: usize, closers: &mut usize) -> Step<SqlType> {
    open_angle(p)?;
    let element = nullable_type(p, depth, closers)?;
    close_angle(p, closers)?;
    Ok(element)
}

fn map(p: &mut Parser, depth: usize, closers: &mut usize) -> Step<LogicalType> {
    open_angle(p)?;
    let key = nullable_type(p, depth, closers)?;
    p.expect_token(&Token::Comma)?;
    let value = nullable_type(p, depth, closers)?;
    close_angle(p, closers)?;
    Ok(LogicalType::Map(Box::new(key), Box::new(value)))
}

/// `ROW<n t 'comment', ...>` or `ROW(n t, ...)`.
fn row(p: &mut Parser, depth: usize, closers: &mut usize) -> Step<LogicalType> {
    let parens = p.consume_token(&Token::LParen);
    if !parens && p.consume_token(&Token::Neq) {
        return Ok(LogicalType::Row(vec![]));
    }
    if !parens {
        open_angle(p)?;
    }
    let mut fields: Vec<RowField> = Vec::new();
    while *closers == 0 && !matches!(p.peek_token_ref().token, Token::Gt | Token::RParen) {
        fields.push(field(p, depth, closers)?);
        if *closers > 0 || !p.consume_token(&Token::Comma) {
            break;
        }
    }
    match parens {
        true => p.expect_token(&Token::RParen).map(|_| ())?,
        false => close_angle(p, closers)?,
    }
    Ok(LogicalType::Row(fields))
}

fn field(p: &mut Parser, depth: usize, closers: &mut usize) -> Step<RowField> {
    let token = p.next_token();
    let name = match &token.token {
        Token::Word(word) => word.value.clone(),
        _ => return p.expected("the name of a field", token),
    };
    let sql_type = nullable_type(p, depth, closers)?;
    let comment = match p.peek_token_ref().token {
        Token::SingleQuotedString(_) if *closers == 0 => Some(string(p, "a comment")?),
        _ if at(p, "COMMENT") => {
            expect(p, &["COMMENT"])?;
            Some(string(p, "a comment")?)
        }
        _ => None,
    };
    Ok(RowField { name, sql_type, comment })
}

#[cfg(test)]
mod tests;
