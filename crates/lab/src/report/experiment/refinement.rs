//! How many candidates need exact distances in the end: recall and reads over the share refined.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Scale, Section};
use crate::report::evidence::Evidence;
use crate::report::plot::Named;
use crate::report::quantity::{PAGES, Quantity, RECALL};
use crate::report::setting::{Setting, Shown};
use crate::report::{group, method, number, refusal};

const SOURCE: &str = "Gorgeous, fig. 5 and section 3.2";
/// Recall that Gorgeous aims at.
const TARGET: f64 = 0.95;
/// Share that Gorgeous refines, and all.
const HALF: f64 = 0.5;
const ALL: f64 = 1.0;
/// Recall whose loss counts as none.
const NO_HARM: f64 = 0.005;
/// Shortest list that Gorgeous needs, in multiples of k.
const LEAST_LISTS: f64 = 10.0;

const SHARE: Setting = Setting {
    axis: "refine_share",
    name: "share of the candidates refined",
    scale: Scale::Linear,
    format: number::percent,
};
/// The section of the experiment `refinement`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "refinement", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "Walks go by codes; in the end the best candidates are ranked by exact distances. Here the \
         share of the candidate list that is, varies, with the list size: a small share saves \
         reads, one that is too small loses neighbours that codes rank low."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let groups = group::by_data_and_design(&records);
    Some(Section {
        id: "refinement".to_owned(),
        title: "Share of candidates refined".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: groups
            .iter()
            .flat_map(|(data, design, records)| figures(data, design, records))
            .collect(),
        tables: refusal::table(run, "refinement").into_iter().collect(),
        findings: findings(&groups),
    })
}

fn figures(data: &str, design: &str, records: &[&Record]) -> Vec<Figure> {
    let lists: Vec<Named<'_>> = group::by_axis(records, "list_size")
        .into_iter()
        .map(|(list_size, records)| (format!("list size {list_size}"), records))
        .collect();
    let kinds: [(&str, &str, &Quantity); 2] = [
        ("recall", "Recall", &RECALL),
        ("pages", "Pages read per query", &PAGES),
    ];
    kinds
        .into_iter()
        .map(|(name, what, quantity)| {
            let shown = Shown {
                id: format!("refinement-{name}-{design}-{data}"),
                title: format!("{what} by share refined, {design}, {data}"),
                setting: SHARE,
                quantity,
            };
            let mut figure =
                shown.figure(&lists, |records| quantity.cell(quantity.median(records)));
            if let Some(first) = figure.table.columns.first_mut() {
                "list".clone_into(&mut first.name);
            }
            figure
        })
        .collect()
}

type Group<'r> = (&'r str, &'r str, Vec<&'r Record>);

fn findings(groups: &[Group<'_>]) -> Vec<Finding> {
    vec![
        harm(groups).finding(
            "With long lists, exact distances for half of the candidates are as good as for all",
            SOURCE,
        ),
        saving(groups).finding("A smaller share saves reads", SOURCE),
        lists(groups).finding(
            "A recall of 0.95 takes lists of 10 to 20 times as many candidates as neighbours \
             wanted",
            SOURCE,
        ),
    ]
}

/// A quantity with half of the candidates refined and with all, at the longest list.
fn half_and_all(records: &[&Record], quantity: &Quantity) -> Option<(f64, f64, f64)> {
    let (list_size, records) = group::by_axis(records, "list_size").pop()?;
    let of = |share: f64| quantity.median(&group::at_axis(&records, SHARE.axis, share));
    Some((list_size, of(HALF)?, of(ALL)?))
}

fn harm(groups: &[Group<'_>]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, design, records) in groups {
        if let Some((list_size, half, all)) = half_and_all(records, &RECALL) {
            let measured = format!(
                "{data}, {design}, list size {list_size}: recall {} with half, {} with all",
                number::recall(half),
                number::recall(all)
            );
            evidence.add(all - half <= NO_HARM, measured);
        }
    }
    evidence
}

fn saving(groups: &[Group<'_>]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, design, records) in groups {
        if let Some((list_size, half, all)) = half_and_all(records, &PAGES) {
            let measured = format!(
                "{data}, {design}, list size {list_size}: {} pages with half, {} with all",
                number::plain(half),
                number::plain(all)
            );
            evidence.add(half < all, measured);
        }
    }
    evidence
}

/// The shortest list that reaches the recall with half of its candidates refined.
fn lists(groups: &[Group<'_>]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, design, records) in groups {
        let half = group::at_axis(records, SHARE.axis, HALF);
        let shortest = group::by_axis(&half, "list_size")
            .into_iter()
            .find(|(_, records)| {
                RECALL
                    .median(records)
                    .is_some_and(|recall| recall >= TARGET)
            });
        let k = half.first().and_then(|record| record.axis("k"));
        if let (Some((list_size, _)), Some(k)) = (shortest, k) {
            let measured = format!(
                "{data}, {design}: list size {list_size} for {k} neighbours, {}",
                number::times(list_size / k)
            );
            evidence.add(list_size / k >= LEAST_LISTS, measured);
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::{Plot, Verdict};
    use crate::report::fixture::{give, run, search, set};

    fn refined(list_size: u64, share: f64, recall: f64, pages: f64) -> Record {
        let record = search("refinement", "photos", "gorgeous", list_size, recall);
        let numbers = json!({"pages_per_query": pages});
        give(set(record, "refine_share", share), numbers)
    }

    fn of(half: f64) -> Section {
        let records = vec![
            refined(20, 0.5, 0.85, 12.0),
            refined(20, 1.0, 0.92, 18.0),
            refined(40, 0.5, half, 22.0),
            refined(40, 1.0, 0.982, 30.0),
        ];
        section(&run(records)).unwrap()
    }

    #[test]
    fn a_curve_per_list_size() {
        let section = of(0.98);
        assert_eq!(section.figures.len(), 2);
        let Plot::Lines(lines) = &section.figures[0].plot else {
            panic!("no lines")
        };
        let names: Vec<&str> = lines.series.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["list size 20", "list size 40"]);
        assert_eq!(lines.series[1].marks[0].y, 0.98);
        assert_eq!(section.figures[0].table.columns[0].name, "list");
        assert_eq!(section.figures[1].table.rows[0][1].number, Some(12.0));
    }

    #[test]
    fn the_loss_decides_at_the_longest_list() {
        use Verdict::{Agrees, Differs, NotMeasured};
        let verdicts = |section: Section| -> Vec<Verdict> {
            section.findings.iter().map(|each| each.verdict).collect()
        };
        assert_eq!(verdicts(of(0.98)), [Agrees, Agrees, Differs]);
        assert_eq!(verdicts(of(0.94)), [Differs, Agrees, NotMeasured]);
    }
}
