//! The line editor: prompt, keys, history, and when a text is whole.

use super::complete::SqlCompleter;
use super::highlight::SqlHighlighter;
use super::vocabulary::Vocabulary;
use flugs_sql::parser::is_complete;
use flugs_types::{Error, Result};
use reedline::{
    ColumnarMenu, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt, PromptEditMode,
    PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, ValidationResult, Validator,
    default_emacs_keybindings,
};
use std::borrow::Cow;
use std::path::PathBuf;

/// How many statements the history keeps.
const HISTORY_MAX: usize = 10_000;
const MENU: &str = "completion";

/// The editor of a shell.
pub fn editor(words: &Vocabulary) -> Result<Reedline> {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let menu = ColumnarMenu::default().with_name(MENU).with_columns(4).with_column_padding(2);
    let mut editor = Reedline::create()
        .with_validator(Box::new(WholeStatements))
        .with_completer(Box::new(SqlCompleter::new(words.clone())))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_highlighter(Box::new(SqlHighlighter))
        .with_quick_completions(true)
        .with_edit_mode(Box::new(Emacs::new(keys)));
    if let Some(path) = history_path() {
        let history = FileBackedHistory::with_file(HISTORY_MAX, path.clone()).map_err(|e| {
            Error::environment("the history cannot be kept").at(path.display().to_string()).caused_by(e)
        })?;
        editor = editor.with_history(Box::new(history));
    }
    Ok(editor)
}

/// The history's file in the user's folder of data; none where there is no such folder.
fn history_path() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let data =
        std::env::var_os("XDG_DATA_HOME").filter(|d| !d.is_empty()).map(PathBuf::from).or_else(home)?;
    Some(data.join("flugs").join("sql-history.txt"))
}

/// Enter runs a text whose statements are all whole, and begins a new line of any other.
pub struct WholeStatements;

impl Validator for WholeStatements {
    fn validate(&self, line: &str) -> ValidationResult {
        if is_complete(line) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

/// `Flugs SQL> `.
pub struct ShellPrompt;

impl Prompt for ShellPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("Flugs SQL")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("         > ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!(" (search: {}) ", search.term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_runs_whole_statements_alone() {
        let whole = |text: &str| matches!(WholeStatements.validate(text), ValidationResult::Complete);
        assert!(whole("SELECT 1;") && whole("HELP") && whole("quit") && whole(""));
        assert!(!whole("SELECT 1") && !whole("SELECT 'a;") && !whole("SELECT 1; SELECT"));
        assert!(!whole("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;"));
        assert!(whole("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;"));
    }
}
