//! How windows consist of the panes in which state is kept.

use crate::window::cells::Panes;
use crate::window::shape::{Slices, Span};

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) enum Windows {
    /// A pane is a slice.
    Sliced(Slices),
    /// A pane is a window that rows carry.
    Attached,
}

impl Windows {
    /// Whether every window is one pane.
    pub(super) fn is_single(&self) -> bool {
        match self {
            Windows::Sliced(slices) => slices.is_tumbling(),
            Windows::Attached => true,
        }
    }

    /// Whether a fired window stays in the place of its first pane.
    pub(super) fn is_cumulative(&self) -> bool {
        matches!(self, Windows::Sliced(slices) if slices.is_cumulative() && !slices.is_tumbling())
    }

    /// Of the windows over the pane, the first to end that is not over at `reached`.
    pub(super) fn first_window(&self, pane: Span, reached: i64) -> Option<Span> {
        match self {
            Windows::Sliced(slices) => slices.first_window(pane, reached),
            Windows::Attached => (!pane.is_over(reached)).then_some(pane),
        }
    }

    /// The end of the last window over the pane; `None` where there is no window.
    pub(super) fn last_end(&self, pane: Span) -> Option<i64> {
        match self {
            Windows::Sliced(slices) => slices.last_end(pane),
            Windows::Attached => Some(pane.end),
        }
    }

    /// The pane that rows of a slice are added to now.
    pub(super) fn home(&self, slice: Span, reached: i64) -> Span {
        match self {
            Windows::Sliced(slices) if self.is_cumulative() && slice.is_over(reached) => {
                slices.first_slice(slice)
            }
            _ => slice,
        }
    }

    /// The panes that are of the window, in order. Of windows that are several panes only those that exist.
    pub(super) fn panes_of(&self, window: Span, panes: &Panes) -> Vec<Span> {
        match self {
            Windows::Sliced(slices) if !slices.is_tumbling() => {
                slices_within(window, panes).copied().collect()
            }
            _ => vec![window],
        }
    }
}

/// The slices within a span that there are, in order.
pub(super) fn slices_within(span: Span, panes: &Panes) -> impl DoubleEndedIterator<Item = &Span> {
    let first = Span::new(i64::MIN, span.start.saturating_add(1));
    panes.within(first..=Span::new(i64::MAX, span.end)).filter(move |slice| slice.start >= span.start)
}
