//! Cases of a claim: what is compared with what, and the value that comes of it.

use super::claim::{Change, Lead, Scope};
use super::figure::Sight;
use super::group::{self, Key};
use super::quantity::{At, Quantity, TARGETS, Word};
use super::select::{self, Pick, ValuePlace};
use super::{curve, number};
use crate::record::Record;

/// What speaks for or against a claim: values, all of which must lie within the bounds, and the
/// numbers in words.
pub(super) type Case = (Vec<f64>, String);

/// Records of one data set.
pub(super) struct Group<'g> {
    pub(super) sight: Sight<'g>,
    pub(super) scope: &'g Scope,
    pub(super) label: String,
    pub(super) records: Vec<&'g Record>,
}

impl Group<'_> {
    fn quantity(&self) -> &Quantity {
        self.sight.book.quantity(&self.scope.of)
    }

    fn value_of(&self, records: &[&Record]) -> Option<f64> {
        self.quantity().at(self.sight.run, records, self.scope.at)
    }

    /// A value as people read it, with the recall beside it where that is not the same everywhere.
    fn told(&self, design: &str, value: f64) -> String {
        let text = format!("{design} {}", self.quantity().format.text(value));
        if self.scope.at != At::Word(Word::Nearest) {
            return text;
        }
        let own = group::of_design(&self.records, design);
        let recall = self
            .sight
            .book
            .quantity("recall")
            .at(self.sight.run, &own, self.scope.at);
        recall.map_or(text.clone(), |recall| {
            format!("{text} (recall {})", number::recall(recall))
        })
    }

    /// Designs of a kind with their values; those that are none of `others` where that is given.
    fn values(&self, kinds: &[String], wanted: bool) -> Vec<(&str, f64)> {
        let of_kind = |record: &Record| {
            let is = |kind: &String| select::is_of_kind(self.sight.run, record, kind);
            kinds.iter().any(is) == wanted
        };
        group::by_design(&self.records)
            .into_iter()
            .filter(|(_, records)| records.first().is_some_and(|record| of_kind(record)))
            .filter_map(|(design, records)| Some((design, self.value_of(&records)?)))
            .collect()
    }

    /// The values that a design and its rivals are compared by: one for each rival that counts.
    pub(super) fn lead(&self, lead: &Lead, upwards: bool) -> Vec<Case> {
        let rivals = match &lead.against {
            Some(against) => self.values(std::slice::from_ref(against), true),
            None => self.values(&lead.designs, false),
        };
        let extreme = |values: &[(&str, f64)], most: bool| {
            let order = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
            if most {
                values.iter().max_by(order).map(|x| (x.0.to_owned(), x.1))
            } else {
                values.iter().min_by(order).map(|x| (x.0.to_owned(), x.1))
            }
        };
        let best = extreme(&rivals, upwards != lead.inverse);
        let counted = match (lead.over_all, best) {
            (_, None) => return Vec::new(),
            (false, Some(best)) => vec![best],
            (true, Some(best)) => extreme(&rivals, upwards == lead.inverse)
                .into_iter()
                .chain([best])
                .collect(),
        };
        let case = |own: &(&str, f64)| {
            let ratio = |rival: &(String, f64)| {
                if lead.inverse {
                    rival.1 / own.1
                } else {
                    own.1 / rival.1
                }
            };
            let values: Vec<f64> = self
                .ratios(own.0, &counted)
                .unwrap_or_else(|| counted.iter().map(ratio).collect());
            let rivals: Vec<String> = counted
                .iter()
                .map(|(name, value)| self.told(name, *value))
                .collect();
            let times: Vec<String> = values.iter().map(|value| number::times(*value)).collect();
            (
                values,
                format!(
                    "{}: {}, {}: {}",
                    self.label,
                    self.told(own.0, own.1),
                    rivals.join(", "),
                    times.join(" and ")
                ),
            )
        };
        // Several names are several cases; one kind is its best.
        let own = self.values(&lead.designs, true);
        if lead.designs.len() > 1 {
            return own.iter().map(case).collect();
        }
        let best = extreme(&own, upwards);
        best.iter()
            .map(|(name, value)| case(&(name.as_str(), *value)))
            .collect()
    }

    /// Of several recalls, the median of how many times as much.
    fn ratios(&self, own: &str, rivals: &[(String, f64)]) -> Option<Vec<f64>> {
        let [(rival, _)] = rivals else { return None };
        (self.scope.at == At::Word(Word::Targets)).then(|| {
            let at = |design: &str, recall| {
                let records = group::of_design(&self.records, design);
                self.quantity()
                    .at(self.sight.run, &records, At::Recall(recall))
            };
            let ratios = TARGETS.map(|recall| Some(at(own, recall)? / at(rival, recall)?));
            vec![curve::median(ratios.into_iter().flatten().collect())]
        })
    }

    pub(super) fn change(&self, change: &Change) -> Vec<Case> {
        let groups = match &change.widest {
            None => vec![self.records.clone()],
            Some(axis) => group::by_axis(&self.records, axis)
                .into_iter()
                .rev()
                .map(|(_, records)| records)
                .collect(),
        };
        let found = groups.into_iter().map(|records| {
            if change.against.is_some() {
                return self.changed(change, ("", &records)).into_iter().collect();
            }
            let designs = group::by_design(&records);
            let cases = designs
                .iter()
                .filter_map(|(design, records)| self.changed(change, (design, records)));
            cases.collect::<Vec<Case>>()
        });
        let mut found = found;
        found.find(|cases| !cases.is_empty()).unwrap_or_default()
    }

    /// From one value of the setting to another.
    fn changed(&self, change: &Change, (design, records): (&str, &[&Record])) -> Option<Case> {
        let values = self.along(change, records);
        let [(from, first), (to, last)] = match change.step {
            None => match values.as_slice() {
                [first, .., last] => [first.clone(), last.clone()],
                _ => return None,
            },
            Some(step) => {
                let at = |pick: Pick| match pick {
                    Pick::Number(number) => {
                        values.iter().find(|(key, _)| key.number == Some(number))
                    }
                    Pick::Place(ValuePlace::First) => values.first(),
                    Pick::Place(_) => values.last(),
                };
                step.map(at)
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect::<Vec<_>>()
                    .try_into()
                    .ok()?
            }
        };
        if from == to {
            return None;
        }
        let quotient = if change.inverse {
            first / last
        } else {
            last / first
        };
        let settings = from
            .number
            .zip(to.number)
            .map_or(1.0, |(from, to)| to / from);
        let value = match (change.minus, change.per) {
            (true, _) => last - first,
            (_, true) => quotient / settings,
            _ => quotient,
        };
        let over = &self.sight.book.setting(&change.over).name;
        let text = |value: f64| match change.against {
            Some(_) => number::times(value),
            None => self.quantity().format.text(value),
        };
        let names: Vec<&str> = [self.label.as_str(), design]
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        let told = if change.minus {
            format!("{value:.3}")
        } else {
            number::times(value)
        };
        let words = format!(
            "{}: {} with {over} {}, {} with {}: {told}",
            names.join(", "),
            text(first),
            from.text,
            text(last),
            to.text
        );
        Some((vec![value], words))
    }

    /// Values by rising setting: of a quantity, or of how many times as much one design has of it.
    fn along(&self, change: &Change, records: &[&Record]) -> Vec<(Key, f64)> {
        let run = self.sight.run;
        let value = |records: &[&Record], at: At| {
            if let (Some(rival), Some(own)) = (&change.against, change.designs.first()) {
                let of = |design: &str| {
                    let records = group::of_design(records, design);
                    self.quantity().at(run, &records, at)
                };
                return Some(of(own)? / of(rival)?);
            }
            let At::Recall(recall) = at else {
                return self.quantity().at(run, records, at);
            };
            let found = self.quantity().look_up(run, records, recall)?;
            (!(change.unbound && found.bound)).then_some(found.value)
        };
        if change.over == "recall" {
            let key = |recall: f64| Key::number(format!("{recall:.2}"), recall);
            let found =
                TARGETS.map(|recall| Some((key(recall), value(records, At::Recall(recall))?)));
            return found.into_iter().flatten().collect();
        }
        let format = self.sight.book.setting(&change.over).format;
        let groups = group::by_key(records, &change.over, format).into_iter();
        groups
            .filter_map(|(key, records)| Some((key, value(&records, self.scope.at)?)))
            .collect()
    }

    pub(super) fn value(&self, spread: bool) -> Vec<Case> {
        let text = |value: f64| self.quantity().format.text(value);
        if spread {
            let cells = group::by_cell(&self.records).into_iter();
            let mut values: Vec<f64> = cells.filter_map(|cell| self.value_of(&cell)).collect();
            values.sort_by(f64::total_cmp);
            let (Some(least), Some(most)) = (values.first(), values.last()) else {
                return Vec::new();
            };
            return vec![(
                vec![*least, *most],
                format!("{}: {} to {}", self.label, text(*least), text(*most)),
            )];
        }
        let case = |(design, records): (&str, Vec<&Record>)| {
            let value = self.value_of(&records)?;
            Some((
                vec![value],
                format!("{}, {design}: {}", self.label, text(value)),
            ))
        };
        group::by_design(&self.records)
            .into_iter()
            .filter_map(case)
            .collect()
    }
}
