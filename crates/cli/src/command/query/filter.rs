//! What rows must be to be found, as it is typed.

use std::path::Path;

use clap::Args;
use pageway::{Filter, Result};

use crate::system;

/// A filter.
#[derive(Debug, Args)]
pub(crate) struct FilterArguments {
    /// Find only rows whose attributes match this expression, such as "lex = 'noun.food' and
    /// length < 80": docs/filters.md
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "filter_json")]
    pub(crate) filter: Option<String>,

    /// The same by the JSON of a filter of Qdrant's: itself, as '{"must": [..]}', or a file of it
    #[arg(long, value_name = "JSON|FILE")]
    pub(crate) filter_json: Option<String>,
}

impl FilterArguments {
    /// The filter, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Filter>> {
        match (&self.filter, &self.filter_json) {
            (Some(text), _) => Filter::expression(text).map(Some),
            (None, Some(json)) if json.trim_start().starts_with('{') => {
                Filter::qdrant(json).map(Some)
            }
            (None, Some(path)) => {
                let path = Path::new(path);
                let json = system::read_text(path)?;
                let filter = Filter::qdrant(&json);
                filter
                    .map(Some)
                    .map_err(|error| error.within(path.display()))
            }
            (None, None) => Ok(None),
        }
    }
}
