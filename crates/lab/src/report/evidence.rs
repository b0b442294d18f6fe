//! Published findings beside the cases of this run: the verdict follows from the cases.

use super::document::{Finding, Verdict};

/// Cases that speak for or against a finding.
#[derive(Default, Debug)]
pub(crate) struct Evidence {
    cases: Vec<(bool, String)>,
}

impl Evidence {
    /// A case with its numbers, and whether the finding holds in it.
    pub(crate) fn add(&mut self, holds: bool, measured: impl Into<String>) {
        self.cases.push((holds, measured.into()));
    }

    /// Agrees when it holds in every case, differs when in none; nothing measured without cases.
    pub(crate) fn finding(self, claim: &str, source: &str) -> Finding {
        let holding = self.cases.iter().filter(|(holds, _)| *holds).count();
        let verdict = match holding {
            _ if self.cases.is_empty() => Verdict::NotMeasured,
            0 => Verdict::Differs,
            _ if holding == self.cases.len() => Verdict::Agrees,
            _ => Verdict::Partly,
        };
        let measured: Vec<String> = self
            .cases
            .into_iter()
            .map(|(_, measured)| measured)
            .collect();
        Finding {
            claim: claim.to_owned(),
            source: source.to_owned(),
            verdict,
            measured: measured.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(cases: &[bool]) -> Verdict {
        let mut evidence = Evidence::default();
        for holds in cases {
            evidence.add(*holds, "case");
        }
        evidence.finding("claim", "source").verdict
    }

    #[test]
    fn the_cases_decide() {
        assert_eq!(verdict(&[]), Verdict::NotMeasured);
        assert_eq!(verdict(&[true, true]), Verdict::Agrees);
        assert_eq!(verdict(&[true, false]), Verdict::Partly);
        assert_eq!(verdict(&[false]), Verdict::Differs);
    }

    #[test]
    fn the_numbers_are_kept() {
        let mut evidence = Evidence::default();
        evidence.add(true, "a: 2x");
        evidence.add(false, "b: 1x");
        assert_eq!(evidence.finding("c", "s").measured, "a: 2x; b: 1x");
    }
}
