//! What a statement may be at most, so that neither parsing nor dropping its tree runs out of stack or time.

use crate::diagnostic::SqlError;
use crate::normalize::too_deep;
use crate::token::is_word;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// How deep expressions and queries of a statement may nest.
pub const MAX_NESTING: usize = 128;
/// How many operators, or set operations, may stand in a row.
pub const MAX_CHAIN: usize = 2000;
/// How deep parentheses may nest.
const MAX_PARENTHESES: usize = 200;
/// How deep `ARRAY<` may nest, which `sqlparser` reads without counting.
const MAX_NESTED_ARRAYS: usize = 64;
/// How often a query in doubled parentheses may be read again: such queries are tried as a query and as a join.
const MAX_REREADS: usize = 4096;

/// The words behind which a chain of operators begins anew.
const BREAKS: &[&str] =
    &["WHEN", "THEN", "ELSE", "SELECT", "FROM", "WHERE", "ON", "GROUP", "HAVING", "ORDER", "AS"];

/// What is counted within a pair of parentheses.
#[derive(Clone, Copy)]
struct Level {
    operators: usize,
    set_operations: usize,
    rereads: usize,
}

/// Refuses what nests too deeply or has too long a chain of operators.
pub(crate) fn check(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    let fresh = Level { operators: 0, set_operations: 0, rereads: 1 };
    let mut levels = vec![fresh];
    let mut nested_arrays = 0;
    for (i, token) in tokens.iter().enumerate() {
        let Some(level) = levels.last_mut() else { break };
        nested_arrays = match token.token {
            Token::Lt => nested_arrays,
            _ if is_word(&token.token, "ARRAY") => nested_arrays + 1,
            _ => 0,
        };
        if nested_arrays > MAX_NESTED_ARRAYS {
            return Err(too_deep().at(token.span));
        }
        match &token.token {
            Token::LParen | Token::LBracket => {
                let doubled = tokens.get(i + 1).is_some_and(|next| next.token == Token::LParen);
                let rereads = level.rereads.saturating_mul(if doubled { 2 } else { 1 });
                if levels.len() > MAX_PARENTHESES || rereads > MAX_REREADS && in_query(tokens, i) {
                    return Err(too_deep().at(token.span));
                }
                levels.push(Level { rereads, ..fresh });
            }
            Token::RParen | Token::RBracket => {
                if levels.len() > 1 {
                    levels.pop();
                }
            }
            Token::Comma | Token::SemiColon => *level = Level { rereads: level.rereads, ..fresh },
            Token::Word(_) if ["UNION", "EXCEPT", "INTERSECT"].iter().any(|w| is_word(&token.token, w)) => {
                *level = Level { operators: 0, set_operations: level.set_operations + 1, ..*level };
            }
            Token::Word(_) if BREAKS.iter().any(|w| is_word(&token.token, w)) => level.operators = 0,
            Token::Word(_) if !["AND", "OR", "IS"].iter().any(|w| is_word(&token.token, w)) => {}
            Token::Number(..) | Token::SingleQuotedString(_) => {}
            _ => level.operators += 1,
        }
        if levels.last().is_some_and(|level| level.operators > MAX_CHAIN || level.set_operations > MAX_CHAIN)
        {
            let message = format!("more than {MAX_CHAIN} operators stand in a row");
            return Err(SqlError::unsupported(message).at(token.span).help("use IN, or parentheses"));
        }
    }
    Ok(())
}

/// Whether parentheses that open here lead to a query, which is where they are read again.
fn in_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    let inner = tokens[at..].iter().find(|token| token.token != Token::LParen);
    inner.is_some_and(|token| ["SELECT", "WITH", "VALUES"].iter().any(|word| is_word(&token.token, word)))
}
