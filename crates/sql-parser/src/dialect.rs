//! Flink's dialect for `sqlparser`: its hooks, and a budget that ends what would be tried again and again.

use crate::expression;
use crate::token::bare_word;
use crate::words;
use sqlparser::ast::Expr;
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use std::cell::Cell;

/// Flink's dialect. One value serves one statement.
#[derive(Debug)]
pub(crate) struct FlinkDialect {
    /// How many expressions may still begin: `sqlparser` tries some forms twice, which nests to exponential work.
    budget: Cell<usize>,
}

impl Default for FlinkDialect {
    fn default() -> Self {
        FlinkDialect { budget: Cell::new(usize::MAX) }
    }
}

impl FlinkDialect {
    /// The dialect for a statement of so many tokens.
    pub fn for_tokens(tokens: usize) -> Self {
        FlinkDialect { budget: Cell::new(tokens.saturating_mul(64).saturating_add(4096)) }
    }

    fn spend(&self) -> Result<(), ParserError> {
        match self.budget.get().checked_sub(1) {
            Some(rest) => {
                self.budget.set(rest);
                Ok(())
            }
            None => Err(ParserError::RecursionLimitExceeded),
        }
    }
}

impl Dialect for FlinkDialect {
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('`')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_string_escape_constant(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_match_recognize(&self) -> bool {
        true
    }

    fn supports_table_versioning(&self) -> bool {
        true
    }

    fn supports_select_expr_star(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        words::is_reserved(&kw.to_string())
    }

    fn is_column_alias(&self, kw: &Keyword, _parser: &mut Parser) -> bool {
        !words::is_reserved(&kw.to_string()) && !sqlparser::keywords::RESERVED_FOR_COLUMN_ALIAS.contains(kw)
    }

    fn is_table_alias(&self, kw: &Keyword, _parser: &mut Parser) -> bool {
        let reserved = words::is_reserved(&kw.to_string())
            || matches!(kw, Keyword::AFTER | Keyword::SEMI | Keyword::ANTI);
        !reserved && !sqlparser::keywords::RESERVED_FOR_TABLE_ALIAS.contains(kw)
    }

    fn prec_unknown(&self) -> u8 {
        0
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        if expression::at_distinct(parser) {
            return Some(Ok(expression::DISTINCT_PRECEDENCE));
        }
        if expression::at_units(parser) {
            return Some(Ok(expression::UNITS_PRECEDENCE));
        }
        let known = match &parser.peek_token_ref().token {
            Token::Word(word) => matches!(
                word.keyword,
                Keyword::AND
                    | Keyword::OR
                    | Keyword::NOT
                    | Keyword::IS
                    | Keyword::IN
                    | Keyword::BETWEEN
                    | Keyword::LIKE
                    | Keyword::SIMILAR
                    | Keyword::OVERLAPS
            ),
            Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq => true,
            Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat => true,
            Token::Period => true,
            _ => false,
        };
        (!known).then_some(Ok(0))
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Err(error) = self.spend() {
            return Some(Err(error));
        }
        let word = bare_word(&parser.peek_token_ref().token)?.to_ascii_uppercase();
        expression::prefix(parser, &word)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Err(error) = self.spend() {
            return Some(Err(error));
        }
        expression::infix(parser, expr)
    }
}
