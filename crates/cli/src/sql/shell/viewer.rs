//! A result on the whole screen, which refreshes while rows come.

use super::super::Ended;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql::{Folded, Polled, RowFormat, TableResult};
use flugs_types::{Clock, SystemClock};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use std::collections::VecDeque;
use std::time::Duration;

/// How often the screen may refresh.
const INTERVALS_MS: [u64; 6] = [50, 100, 250, 500, 1_000, 5_000];
/// How long rows are taken in before keys are looked at again.
const SLICE: Duration = Duration::from_millis(20);
/// The widest that a column is shown.
const WIDTH_MAX: usize = 60;

/// What is shown.
enum Content {
    /// The rows as they are now.
    Rows(Folded),
    /// The changes in order.
    Changes(VecDeque<Vec<String>>),
    /// Lines of text.
    Lines(Vec<String>),
}

/// Shows a result on the whole screen.
pub struct Viewer {
    result: Option<TableResult>,
    format: Option<RowFormat>,
    content: Content,
    limit: usize,
    /// How many changes have come.
    received: u64,
    first: usize,
    /// Whether the last page stays in sight.
    follows: bool,
    interval: usize,
    failure: Option<flugs_types::Error>,
}

impl Viewer {
    /// Of a query: its rows, or its changes. No more than `limit` rows are kept, the newest.
    pub fn of_query(result: TableResult, changes: bool, limit: usize) -> Self {
        let content = if changes { Content::Changes(VecDeque::new()) } else { Content::Rows(Folded::new()) };
        let format = Some(result.format());
        Viewer { result: Some(result), format, content, limit, ..Viewer::of_text("") }
    }

    /// Of a text that is longer than the screen.
    pub fn of_text(text: &str) -> Self {
        Viewer {
            result: None,
            format: None,
            content: Content::Lines(text.lines().map(str::to_owned).collect()),
            limit: usize::MAX,
            received: 0,
            first: 0,
            follows: false,
            interval: 2,
            failure: None,
        }
    }

    /// Shows it until the user leaves, which stops the query; gives how many rows there were.
    pub fn show(mut self) -> Result<usize, Ended> {
        let mut terminal = ratatui::init();
        let shown = self.run(&mut terminal);
        ratatui::restore();
        shown?;
        match self.failure.take() {
            Some(failure) => Err(failure.into()),
            None => Ok(self.len()),
        }
    }

    fn run(&mut self, terminal: &mut ratatui::DefaultTerminal) -> Result<(), Ended> {
        loop {
            let mut page = Err(Ended::Closed);
            terminal.draw(|frame| page = self.draw(frame))?;
            let height = page?;
            let due = SystemClock.monotonic() + Duration::from_millis(INTERVALS_MS[self.interval]);
            loop {
                self.take_in()?;
                let left = due.saturating_sub(SystemClock.monotonic());
                // A result that is whole waits for keys alone.
                let wait = if self.result.is_some() { Duration::ZERO } else { left.max(SLICE) };
                if event::poll(wait)? {
                    match event::read()? {
                        Event::Key(key) if key.kind != KeyEventKind::Release && self.leaves(key, height) => {
                            return Ok(());
                        }
                        _ => {}
                    }
                    break;
                }
                if left.is_zero() || self.failure.is_some() {
                    break;
                }
            }
            if self.failure.is_some() {
                return Ok(());
            }
        }
    }

    /// Takes changes in for a while.
    fn take_in(&mut self) -> Result<(), Ended> {
        let until = SystemClock.monotonic() + SLICE;
        while let Some(result) = &mut self.result {
            let left = until.saturating_sub(SystemClock.monotonic());
            match result.next_batch_within(left) {
                Polled::Batch(batch) => self.add(&batch)?,
                Polled::Pending => break,
                Polled::End => {
                    let ended = self.result.take().map(TableResult::wait).transpose();
                    self.failure = ended.err();
                }
            }
            if left.is_zero() {
                break;
            }
        }
        Ok(())
    }

    fn add(&mut self, batch: &ChangeBatch) -> Result<(), Ended> {
        self.received += batch.len() as u64;
        match (&mut self.content, &self.format) {
            (Content::Rows(folded), _) => {
                folded.add(batch)?;
                folded.keep_newest(self.limit);
            }
            (Content::Changes(changes), Some(format)) => {
                for (at, mut row) in format.text_rows(batch.rows())?.into_iter().enumerate() {
                    row.insert(0, batch.kind(at).to_string());
                    changes.push_back(row);
                }
                let over = changes.len().saturating_sub(self.limit);
                changes.drain(..over);
            }
            _ => {}
        }
        Ok(())
    }

    fn len(&self) -> usize {
        match &self.content {
            Content::Rows(folded) => folded.len(),
            Content::Changes(changes) => changes.len(),
            Content::Lines(lines) => lines.len(),
        }
    }

    /// What a key does; whether the user leaves.
    fn leaves(&mut self, key: KeyEvent, height: usize) -> bool {
        let last = self.len().saturating_sub(height);
        let page = height.max(1);
        self.follows = self.follows && matches!(key.code, KeyCode::Char('+' | '-'));
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::Down => self.first += 1,
            KeyCode::PageUp | KeyCode::Char('p') => self.first = self.first.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char('n' | ' ') => self.first += page,
            KeyCode::Home | KeyCode::Char('g') => self.first = 0,
            KeyCode::End | KeyCode::Char('l' | 'G') => {
                self.first = last;
                self.follows = true;
            }
            KeyCode::Char('+') => self.interval = self.interval.saturating_sub(1),
            KeyCode::Char('-') => self.interval = (self.interval + 1).min(INTERVALS_MS.len() - 1),
            _ => {}
        }
        self.first = self.first.min(last);
        false
    }

    /// Draws the page; gives how many rows it has room for.
    fn draw(&mut self, frame: &mut Frame<'_>) -> Result<usize, Ended> {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
                .areas(frame.area());
        let header = usize::from(self.format.is_some());
        let height = usize::from(body.height).saturating_sub(header);
        let last = self.len().saturating_sub(height);
        self.first = if self.follows { last } else { self.first.min(last) };
        let rows = self.page(height)?;
        let dim = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Line::styled(self.title(height), dim), head);
        match &self.format {
            None => {
                let lines: Vec<Line<'_>> = rows.into_iter().flatten().map(Line::raw).collect();
                frame.render_widget(Paragraph::new(lines), body);
            }
            Some(format) => {
                let op = matches!(self.content, Content::Changes(_)).then_some("op");
                let names: Vec<&str> = op.into_iter().chain(format.names()).collect();
                let widths = widths(&names, &rows);
                let header =
                    Row::new(names).style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
                let cells = |row: Vec<String>| Row::new(row.into_iter().map(Cell::from));
                let table = Table::new(rows.into_iter().map(cells), widths).header(header).column_spacing(2);
                frame.render_widget(table, body);
            }
        }
        let keys = "q leave  arrows PgUp PgDn move  g first  l last  + - refresh";
        frame.render_widget(Line::styled(keys, dim), foot);
        Ok(height)
    }

    fn page(&self, height: usize) -> Result<Vec<Vec<String>>, Ended> {
        let (first, count) = (self.first, height);
        Ok(match (&self.content, &self.format) {
            (Content::Rows(folded), Some(format)) => match folded.page(first, count)? {
                Some(rows) => format.text_rows(&rows)?,
                None => Vec::new(),
            },
            (Content::Changes(changes), _) => changes.iter().skip(first).take(count).cloned().collect(),
            (Content::Lines(lines), _) => {
                lines.iter().skip(first).take(count).map(|l| vec![l.clone()]).collect()
            }
            (Content::Rows(_), None) => Vec::new(),
        })
    }

    fn title(&self, height: usize) -> String {
        let (first, len) = (self.first, self.len());
        let place = format!("{}-{} of {len}", (first + 1).min(len), (first + height).min(len));
        if self.format.is_none() {
            return format!(" {place} ");
        }
        let state = if self.result.is_some() { "running" } else { "finished" };
        let interval = INTERVALS_MS[self.interval];
        format!(" {state}  rows {place}  changes {}  refresh every {interval} ms ", self.received)
    }
}

/// As wide as the widest cell in sight, within reason.
fn widths(names: &[&str], rows: &[Vec<String>]) -> Vec<Constraint> {
    let column = |(at, name): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        let widest = cells.chain([name.chars().count()]).max().unwrap_or(0);
        Constraint::Length(widest.min(WIDTH_MAX) as u16)
    };
    names.iter().enumerate().map(column).collect()
}
