//! Columns for people. What is in a cell may come from outside, and is shown as such.

use crate::terminal::{Paint, Tone, visible};

/// Rows under headings.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<(String, Option<Tone>)>>,
}

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
        }
    }

    /// One more row. A cell has its text and its tone.
    pub(crate) fn row(&mut self, cells: Vec<(String, Option<Tone>)>) {
        let cells = cells.into_iter().map(|(text, tone)| (visible(&text), tone));
        self.rows.push(cells.collect());
    }

    /// The text. The last column is as wide as it wants to be.
    pub(crate) fn render(&self, paint: Paint) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|(text, _)| text.chars().count())
                .chain(self.headings.get(column).map(|heading| heading.len()))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let head = self
            .headings
            .iter()
            .map(|heading| ((*heading).to_owned(), Some(Tone::Strong)));
        let mut text = line(&head.collect::<Vec<_>>(), &widths, paint);
        for row in &self.rows {
            text.push_str(&line(row, &widths, paint));
        }
        text
    }
}

fn line(cells: &[(String, Option<Tone>)], widths: &[usize], paint: Paint) -> String {
    let last = cells.len().saturating_sub(1);
    let mut text = String::new();
    for (column, ((cell, tone), width)) in cells.iter().zip(widths).enumerate() {
        text.push_str(&match tone {
            Some(tone) => paint.paint(*tone, cell),
            None => cell.clone(),
        });
        if column < last {
            let padding = width.saturating_sub(cell.chars().count()) + 2;
            text.push_str(&" ".repeat(padding));
        }
    }
    text.push('\n');
    text
}
