//! The suites that come with pageway: one per experiment of the literature, and `all`.

use pageway::{Error, Result};

use super::Suite;

const ALL: &str = include_str!("../../suites/all.toml");

/// Every experiment has a suite of its name: `all` with that experiment alone.
///
/// # Errors
/// `Internal` when the text of `all` is no suite.
pub fn builtin_suites() -> Result<Vec<Suite>> {
    let all = Suite::parse(ALL, "all")?;
    let mut suites = vec![all.clone()];
    for experiment in &all.experiments {
        if suites.iter().any(|suite| suite.name == experiment.name) {
            continue;
        }
        suites.push(all.only(std::slice::from_ref(&experiment.name))?);
    }
    Ok(suites)
}

impl Suite {
    /// The suite that comes with pageway under `name`.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is none, with those that are.
    pub fn builtin(name: &str) -> Result<Self> {
        let suites = builtin_suites()?;
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        let words = format!(
            "suite {name}: no file of that name, and none of {}",
            names.join(", ")
        );
        let found = suites.iter().find(|suite| suite.name == name);
        found.cloned().ok_or_else(|| Error::invalid(words))
    }

    /// This suite with some of its experiments alone.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is none of its experiments.
    pub fn only(&self, names: &[String]) -> Result<Self> {
        for name in names {
            if !self
                .experiments
                .iter()
                .any(|experiment| &experiment.name == name)
            {
                let known: Vec<&str> = self
                    .experiments
                    .iter()
                    .map(|experiment| experiment.name.as_str())
                    .collect();
                let known = known.join(", ");
                return Err(Error::invalid(format!(
                    "experiment {name}: there are {known}"
                )));
            }
        }
        let mut suite = self.clone();
        suite
            .experiments
            .retain(|experiment| names.contains(&experiment.name));
        suite.name = names.join("+");
        Ok(suite)
    }
}
