//! What a report consists of, whatever it is rendered to.

use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
    /// Heading.
    pub title: String,
    /// Machine, data, suite: name and value.
    pub facts: Vec<(String, String)>,
    /// What the reader must know first, such as a recall far below its calibration.
    pub warnings: Vec<String>,
    /// One per experiment.
    pub sections: Vec<Section>,
}

/// One experiment.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Section {
    /// Name of the experiment, for links and files.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What it reproduces, such as `Evaluation, fig. 7`; may be empty.
    pub source: String,
    /// How it was measured, in words.
    pub method: Vec<String>,
    /// What to look at.
    pub figures: Vec<Figure>,
    /// Tables that belong to no figure.
    pub tables: Vec<Table>,
    /// How it compares with what was published.
    pub findings: Vec<Finding>,
}

/// A plot with its table.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Figure {
    /// Unique in the report: names its files.
    pub id: String,
    /// Heading; figures of one heading stand under it together.
    pub title: String,
    /// What tells it apart from others of the same heading: the data, as a rule.
    pub data: String,
    /// What to see in it, in a sentence or two; may be empty.
    pub note: String,
    /// True when the numbers are predicted by a model and not measured.
    pub predicted: bool,
    /// How it is drawn.
    pub kind: Kind,
    /// Over what.
    pub x: Axis,
    /// What.
    pub y: Axis,
    /// Every number of the plot: series by series, from left to right.
    pub marks: Vec<Mark>,
    /// The numbers under the plot.
    pub table: Table,
}

/// How a figure is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Curves over numbers.
    #[default]
    Line,
    /// Bars over names, side by side.
    Bar,
    /// Bars over names, on top of each other.
    Stack,
}

/// A number of a plot.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Mark {
    /// Name in the legend. The same name has the same colour all over the report.
    pub series: String,
    /// Where, on the x axis.
    pub x: AxisPlace,
    /// Where, on the y axis.
    pub y: f64,
    /// What the reader sees on it, such as `23.1, list size 40`.
    pub text: String,
}

/// A place on an axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum AxisPlace {
    /// Of numbers.
    Number(f64),
    /// Of names.
    Name(String),
}

impl AxisPlace {
    /// The number, NaN of a name.
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Name(_) => f64::NAN,
        }
    }
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Axis {
    /// Quantity and unit, such as `queries per second`.
    pub name: String,
    /// Spacing.
    pub scale: Scale,
}

/// Spacing of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Even.
    #[default]
    Linear,
    /// By factors of ten.
    Log,
    /// Recall: stretched towards 1, where 0.9, 0.99 and 0.999 lie evenly.
    Recall,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Table {
    /// Unique in the report: names its files.
    pub id: String,
    /// Heading; empty under a plot.
    pub title: String,
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows, each with a cell per column.
    pub rows: Vec<Vec<TableCell>>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Column {
    /// Quantity and unit.
    pub name: String,
    /// Which values win.
    pub goodness: Goodness,
}

/// Which values win a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goodness {
    /// None: a name or a setting.
    #[default]
    Neutral,
    /// The largest.
    Higher,
    /// The smallest.
    Lower,
}

/// A cell of a table.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TableCell {
    /// What people read.
    pub text: String,
    /// The number behind it, unrounded.
    pub number: Option<f64>,
    /// Whether it wins among the rows it is compared with.
    pub best: bool,
}

/// A published finding beside what was measured here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What was published, in our words.
    pub claim: String,
    /// Where.
    pub source: String,
    /// Whether it holds here.
    pub verdict: Verdict,
    /// The numbers that say so, case by case: whether it holds there, and the words.
    pub cases: Vec<(bool, String)>,
}

/// Whether a finding holds here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It does in part, or on some of the data.
    Partly,
    /// It does not.
    Differs,
    /// The run has no numbers for it.
    NotMeasured,
}
