//! The few elements of SVG that figures consist of. All text is escaped here.

use std::fmt::{self, Write};

use crate::report::html;
use crate::report::style::{Marker, Style};

/// Titles and names.
pub(super) const INK: &str = "#1b2430";
/// Numbers on axes, and the foot line.
pub(super) const FAINT: &str = "#5b6673";
/// Grid lines.
pub(super) const GRID: &str = "#e3e7ec";

const FONT: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif";

/// A picture that grows by elements.
pub(super) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

/// Which end of a text is where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Anchor {
    #[default]
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Text<'t> {
    /// Foot of its first, middle or last letter.
    pub(super) at: (f64, f64),
    pub(super) words: &'t str,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) ink: &'static str,
    pub(super) bold: bool,
    /// Degrees, clockwise.
    pub(super) turn: f64,
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self {
            at: (0.0, 0.0),
            words: "",
            size: 12.0,
            anchor: Anchor::Start,
            ink: FAINT,
            bold: false,
            turn: 0.0,
        }
    }
}

/// About how wide a text is: letters of the fonts named above are half as wide as they are high.
pub(super) fn width(words: &str, size: f64) -> f64 {
    0.55 * size * words.chars().count() as f64
}

/// As much of a text as fits into `room`.
pub(super) fn fitted(words: &str, size: f64, room: f64) -> String {
    if width(words, size) <= room {
        return words.to_owned();
    }
    let letters = (room / width("x", size)) as usize;
    let start: String = words.chars().take(letters.saturating_sub(1)).collect();
    format!("{start}…")
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    pub(super) fn height(&self) -> f64 {
        self.height
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: &str) -> fmt::Result {
        writeln!(
            self.body,
            r#"<path d="M{:.2} {:.2}L{:.2} {:.2}" stroke="{ink}" fill="none"/>"#,
            from.0, from.1, to.0, to.1
        )
    }

    pub(super) fn text(&mut self, text: Text<'_>) -> fmt::Result {
        let (x, y) = text.at;
        let anchor = match text.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if text.bold { 600 } else { 400 };
        let turn = match text.turn {
            0.0 => String::new(),
            turn => format!(r#" transform="rotate({turn} {x:.2} {y:.2})""#),
        };
        writeln!(
            self.body,
            r#"<text x="{x:.2}" y="{y:.2}" font-size="{}" font-weight="{weight}" fill="{}" text-anchor="{anchor}"{turn}>{}</text>"#,
            (text.size * 10.0).round() / 10.0,
            text.ink,
            html::text(text.words)
        )
    }

    pub(super) fn curve(&mut self, places: &[(f64, f64)], style: &Style) -> fmt::Result {
        if places.len() < 2 {
            return Ok(());
        }
        let steps: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.2} {y:.2}"))
            .collect();
        writeln!(
            self.body,
            r#"<path d="M{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round" stroke-dasharray="{}"/>"#,
            steps.join("L"),
            style.light,
            if style.dash.is_empty() {
                "none"
            } else {
                style.dash
            }
        )
    }

    pub(super) fn mark(&mut self, at: (f64, f64), style: &Style) -> fmt::Result {
        let (x, y) = at;
        let fill = if style.hollow { "#ffffff" } else { style.light };
        let stroke = if style.hollow { style.light } else { "#ffffff" };
        let open = matches!(style.marker, Marker::Cross | Marker::Star);
        let (stroke, thick) = if open {
            (style.light, 2.0)
        } else {
            (stroke, 1.2)
        };
        writeln!(
            self.body,
            r#"<path transform="translate({x:.2} {y:.2})" d="{}" fill="{fill}" stroke="{stroke}" stroke-width="{thick}"/>"#,
            shape(style.marker)
        )
    }

    /// A bar from corner to corner.
    pub(super) fn bar(&mut self, from: (f64, f64), to: (f64, f64), style: &Style) -> fmt::Result {
        let (left, right) = (from.0.min(to.0), from.0.max(to.0));
        let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
        writeln!(
            self.body,
            r#"<rect x="{left:.2}" y="{top:.2}" width="{:.2}" height="{:.2}" fill="{}" fill-opacity="{}" stroke="{}"/>"#,
            right - left,
            bottom - top,
            style.light,
            if style.hollow { 0.35 } else { 1.0 },
            if style.hollow { style.light } else { "none" }
        )
    }

    /// What stands for a series in the legend.
    pub(super) fn key(&mut self, at: (f64, f64), style: &Style, curve: bool) -> fmt::Result {
        let (x, y) = at;
        if curve {
            self.curve(&[(x, y), (x + 24.0, y)], style)?;
            self.mark((x + 12.0, y), style)
        } else {
            self.bar((x + 6.0, y - 6.0), (x + 18.0, y + 6.0), style)
        }
    }

    /// The file.
    pub(super) fn finish(self, title: &str) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONT}\" role=\"img\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            html::text(title),
            self.body
        )
    }
}

/// Outlines around the origin, of about the same area.
fn shape(marker: Marker) -> &'static str {
    match marker {
        Marker::Circle => "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
        Marker::Square => "M-3.6 -3.6H3.6V3.6H-3.6Z",
        Marker::Triangle => "M0 -4.8L4.6 3.4H-4.6Z",
        Marker::Diamond => "M0 -5L5 0L0 5L-5 0Z",
        Marker::Down => "M0 4.8L4.6 -3.4H-4.6Z",
        Marker::Cross => "M-3.8 -3.8L3.8 3.8M-3.8 3.8L3.8 -3.8",
        Marker::Star => "M0 -4.8V4.8M-4.2 -2.4L4.2 2.4M-4.2 2.4L4.2 -2.4",
    }
}
