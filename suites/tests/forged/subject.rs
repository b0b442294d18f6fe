//! Sound indexes to be forged, and what they may answer.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pageway::source::{IdSlice, TextRead, TextSlice, VectorSlice};
use pageway::{
    Answers, BuildInput, BuildOptions, Effort, ElementType, Error, ErrorKind, Filter, Index,
    Metric, NoProgress, OpenOptions, Preset, Queries, Rows as PutRows, SearchOptions,
    UpdateOptions, VectorShape, Vfs, Writer, verify_on,
};
use pageway_store::OpenMode;
use pageway_testkit::SimVfs;

use crate::common::{Data, contents, names, quick_as};

pub(crate) const DIR: &str = "/index";

pub(crate) const ROWS: usize = 400;
const DIMENSION: u32 = 16;
const K: u32 = 5;
const QUERIES: usize = 8;

/// What the forgeries of a subject came to.
#[derive(Default)]
pub(crate) struct Seen {
    /// Not opened, or not searched.
    pub(crate) refused: u32,
    same: u32,
    otherwise: u32,
    /// Found by `verify`, of those that were answered.
    found: u32,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            refused,
            same,
            otherwise,
            found,
        } = self;
        write!(
            f,
            "{refused} refused, {same} answered as ever, {otherwise} otherwise; verify finds \
             {found} of these"
        )
    }
}

/// Rows of one type under one metric, with ids or without.
struct Rows {
    bytes: Vec<u8>,
    shape: VectorShape,
    metric: Metric,
    ids: Option<Vec<u64>>,
}

impl Rows {
    fn bytes() -> Self {
        let data = Data::new(ROWS, DIMENSION, 5);
        Self {
            bytes: data.rows,
            shape: data.shape,
            metric: Metric::L2,
            ids: None,
        }
    }

    fn floats() -> Self {
        let data = Data::new(ROWS, DIMENSION, 6);
        let float = |byte: &u8| (f32::from(*byte) - 120.5).to_le_bytes();
        Self {
            bytes: data.rows.iter().flat_map(float).collect(),
            shape: VectorShape {
                dimension: DIMENSION,
                element: ElementType::F32,
            },
            metric: Metric::Cosine,
            ids: Some((0..ROWS as u64).map(|row| row * 3 + 1000).collect()),
        }
    }

    /// Vectors that are folded in pages of their own.
    fn folded() -> Self {
        let data = Data::new(ROWS, 256, 8);
        let float = |byte: &u8| ((f32::from(*byte) - 120.5) / 100.0).to_le_bytes();
        Self {
            bytes: data.rows.iter().flat_map(float).collect(),
            shape: VectorShape {
                dimension: 256,
                element: ElementType::F32,
            },
            ids: None,
            ..Self::floats()
        }
    }

    fn bits() -> Self {
        let data = Data::new(ROWS, DIMENSION, 7);
        Self {
            bytes: data.rows,
            shape: VectorShape {
                dimension: DIMENSION * 8,
                element: ElementType::Bit,
            },
            metric: Metric::Jaccard,
            ids: None,
        }
    }

    fn row_of(&self, id: u64) -> Option<usize> {
        match &self.ids {
            None => usize::try_from(id).ok().filter(|row| *row < ROWS),
            Some(ids) => ids.iter().position(|own| *own == id),
        }
    }

    fn vector(&self, row: usize) -> Vec<f64> {
        let bytes = &self.bytes[row * self.shape.row_bytes()..][..self.shape.row_bytes()];
        match self.shape.element {
            ElementType::F32 => {
                let (floats, _) = bytes.as_chunks::<4>();
                floats
                    .iter()
                    .map(|own| f64::from(f32::from_le_bytes(*own)))
                    .collect()
            }
            ElementType::F16 | ElementType::Bf16 | ElementType::U8 | ElementType::I8 => {
                bytes.iter().map(|byte| f64::from(*byte)).collect()
            }
            ElementType::Bit => (0..bytes.len() * 8)
                .map(|at| f64::from(bytes[at / 8] >> (7 - at % 8) & 1))
                .collect(),
        }
    }

    fn distance(&self, left: usize, right: usize) -> f64 {
        let (left, right) = (self.vector(left), self.vector(right));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        match self.metric {
            Metric::Cosine => {
                let lengths = product(&left, &left) * product(&right, &right);
                1.0 - product(&left, &right) / lengths.sqrt()
            }
            Metric::L1 => left.iter().zip(&right).map(|(a, b)| (a - b).abs()).sum(),
            Metric::Jaccard => {
                let both = product(&left, &right);
                let either = product(&left, &left) + product(&right, &right) - both;
                1.0 - both / either
            }
            Metric::L2 | Metric::Hamming | Metric::InnerProduct => left
                .iter()
                .zip(&right)
                .map(|(a, b)| (a - b) * (a - b))
                .sum(),
        }
    }
}

/// A sound index, and what it answers.
pub(crate) struct Subject {
    pub(crate) name: String,
    rows: Arc<Rows>,
    files: Vec<(String, Vec<u8>)>,
    expected: Said,
    /// Whether ids are numbers in its pages, of which one is as good as another.
    stores_ids: bool,
}

/// What an index answers.
#[derive(Default)]
struct Said {
    plain: Answers,
    /// With filters and attributes, where rows have any.
    filtered: Vec<Answers>,
}

impl Said {
    fn all(&self) -> impl Iterator<Item = &Answers> {
        self.filtered.iter().chain([&self.plain])
    }

    fn is_as(&self, other: &Self) -> bool {
        let pairs = self.all().zip(other.all());
        pairs.into_iter().all(|(one, other)| {
            one.ids == other.ids
                && one.distances == other.distances
                && one.attributes == other.attributes
        })
    }
}

/// By terms, by words, and by documents.
const FILTERS: [&str; 3] = [
    "tag in ['even', 'none'] and n < 300",
    "text contains 'row' and not (n between 10 and 390)",
    "any(of, at = 3 and is = 'x')",
];

impl Subject {
    /// Every form of every preset over bytes and over floats with ids; two of them in segments, and
    /// over bits; and over vectors that are folded.
    pub(crate) fn all() -> Vec<Self> {
        let all = [Arc::new(Rows::bytes()), Arc::new(Rows::floats())];
        let mut subjects = Vec::new();
        for rows in &all {
            for preset in Preset::ALL {
                let mut forms = preset.form_names();
                if forms.is_empty() {
                    forms.push("");
                }
                for form in forms {
                    let form = (!form.is_empty()).then(|| form.to_owned());
                    subjects.extend(Self::build(rows, preset, form, 1));
                }
            }
            for preset in [Preset::DiskAnn, Preset::Pageway] {
                subjects.extend(Self::build(rows, preset, None, 3));
            }
        }
        for preset in [Preset::OdinAnn, Preset::IpDiskAnn, Preset::Dgai] {
            subjects.push(Self::changed(&all[0], preset));
        }
        let bits = Arc::new(Rows::bits());
        for preset in [Preset::DiskAnn, Preset::Pageway] {
            subjects.extend(Self::build(&bits, preset, None, 1));
        }
        let folded = Arc::new(Rows::folded());
        for form in Preset::Pageway.form_names() {
            let form = Some(form.to_owned());
            subjects.extend(Self::build(&folded, Preset::Pageway, form, 1));
        }
        subjects.push(Self::changed(&folded, Preset::Dgai));
        assert!(subjects.len() > 2 * Preset::ALL.len());
        subjects
    }

    /// One whose rows were replaced by equals, so that its pages were patched or written over.
    fn changed(rows: &Arc<Rows>, preset: Preset) -> Self {
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        let options = quick_as(preset).with_metric(rows.metric);
        build(rows, &vfs, &options).unwrap();
        replace(rows, &vfs);
        Self {
            stores_ids: true,
            ..Self::of(format!("{preset} changed"), rows, &vfs)
        }
    }

    /// None where a form cannot be built over these rows.
    fn build(
        rows: &Arc<Rows>,
        preset: Preset,
        form: Option<String>,
        segments: u32,
    ) -> Option<Self> {
        let element = rows.shape.element.name();
        let name = format!(
            "{preset} {} {element} x{segments}",
            form.as_deref().unwrap_or("-")
        );
        let options = quick_as(preset)
            .with_form(form)
            .with_metric(rows.metric)
            .with_segments(segments);
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        if let Err(error) = build(rows, &vfs, &options) {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
            return None;
        }
        Some(Self::of(name, rows, &vfs))
    }

    /// The index that there is.
    fn of(name: String, rows: &Arc<Rows>, vfs: &Arc<dyn Vfs>) -> Self {
        let dir = Path::new(DIR);
        let names = names(vfs.as_ref(), dir).into_iter();
        let names = names.filter(|name| is_file(name));
        let files = names.map(|name| {
            let bytes = contents(vfs.as_ref(), &dir.join(&name));
            (name, bytes)
        });
        let mut subject = Self {
            name,
            rows: Arc::clone(rows),
            files: files.collect(),
            expected: Said::default(),
            stores_ids: false,
        };
        let report = verify_on(vfs, dir, &NoProgress).unwrap();
        assert!(report.is_sound(), "{}: {:?}", subject.name, report.problems);
        subject.expected = subject.search(vfs).unwrap();
        for answers in subject.expected.all() {
            subject.check_answers(answers, true).unwrap();
        }
        let found = subject.expected.filtered.iter();
        assert!(found.into_iter().all(|one| one.ids[0] != u64::MAX));
        subject
    }

    /// The files on a file system of their own.
    pub(crate) fn copy(&self) -> Arc<dyn Vfs> {
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        vfs.create_dir_all(Path::new(DIR)).unwrap();
        for (name, bytes) in &self.files {
            let path = Path::new(DIR).join(name);
            let file = vfs.open(&path, OpenMode::CreateNew).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        }
        vfs
    }

    fn search(&self, vfs: &Arc<dyn Vfs>) -> pageway::Result<Said> {
        let index = Index::open_on(vfs, Path::new(DIR), &OpenOptions::default().with_threads(1))?;
        let options = SearchOptions::nearest(K)
            .with_effort(Effort::ListSize(20))
            .with_threads(1);
        let rows = &self.rows.bytes[..QUERIES * self.rows.shape.row_bytes()];
        let queries = Queries::new(rows, self.rows.shape);
        let mut said = Said {
            plain: index.search(&queries, &options)?,
            filtered: Vec::new(),
        };
        if self.rows.ids.is_some() {
            for text in FILTERS {
                let filter = Filter::expression(text)?;
                let queries = Queries::new(rows, self.rows.shape)
                    .with_filter(&filter)
                    .with_wants_attributes(true);
                said.filtered.push(index.search(&queries, &options)?);
            }
        }
        Ok(said)
    }

    /// Opens, searches and verifies an index of which `file` was forged.
    pub(crate) fn judge(
        &self,
        vfs: &Arc<dyn Vfs>,
        file: &str,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let is_sound = match verify_on(vfs, Path::new(DIR), &NoProgress) {
            Ok(report) => report.is_sound(),
            Err(error) => {
                check_kind(&error, file)?;
                false
            }
        };
        let answers = match self.search(vfs) {
            Ok(answers) => answers,
            Err(error) => {
                seen.refused += 1;
                return check_kind(&error, file);
            }
        };
        seen.found += u32::from(!is_sound);
        if answers.is_as(&self.expected) {
            seen.same += 1;
            return Ok(());
        }
        seen.otherwise += 1;
        // What is in the records is what there is; all else only leads to it.
        let is_true = !["records", "patch", "MANIFEST"].contains(&file);
        let checked = answers
            .all()
            .try_for_each(|answers| self.check_answers(answers, is_true));
        checked.or_else(|what| {
            // Answers that cannot be told from right ones one by one; and no user id, in the one
            // place where it stands, can be told from any other number.
            let is_found = what.contains("twice") && !is_sound;
            let is_any = what.contains("nobody gave") && !is_true && self.rows.ids.is_some();
            if is_found || is_any {
                Ok(())
            } else {
                Err(what)
            }
        })
    }

    /// Whether each answer is a row, at a distance that can be; that of the row, if `is_true`.
    fn check_answers(&self, answers: &Answers, is_true: bool) -> Result<(), String> {
        let k = answers.k;
        for query in 0..QUERIES {
            let ids = &answers.ids[query * k..][..k];
            let distances = &answers.distances[query * k..][..k];
            if !distances.is_sorted() {
                return Err(format!("query {query}: unsorted {distances:?}"));
            }
            let mut met = BTreeSet::new();
            for (id, distance) in ids.iter().zip(distances) {
                let may_be_none = !met.is_empty() || answers.filter.is_some() || self.stores_ids;
                if *id == u64::MAX && *distance == f32::INFINITY && may_be_none {
                    continue;
                }
                if !distance.is_finite() {
                    return Err(format!("query {query}: {id} at {distance}"));
                }
                let at = query * k + met.len();
                if let Some(Some(json)) = answers.attributes.get(at)
                    && serde_json::from_str::<serde_json::Value>(json).is_err()
                {
                    return Err(format!("query {query}: {id} with attributes {json:?}"));
                }
                if self.stores_ids {
                    continue;
                }
                let Some(row) = self.rows.row_of(*id) else {
                    return Err(format!("query {query}: id {id}, which nobody gave"));
                };
                if !met.insert(row) {
                    return Err(format!("query {query}: {id} twice"));
                }
                let right = self.rows.distance(query, row);
                let slack = 1e-3 * right.abs().max(1.0);
                if is_true && (f64::from(*distance) - right).abs() > slack {
                    return Err(format!("query {query}: {id} at {distance}, not {right}"));
                }
            }
        }
        Ok(())
    }
}

/// Attributes of a row.
fn document(row: usize) -> String {
    let tag = ["even", "odd"][row % 2];
    format!(
        "{{\"n\":{row},\"tag\":\"{tag}\",\"text\":\"of row {row}\",\
         \"of\":[{{\"at\":{},\"is\":\"x\"}}]}}",
        row % 7
    )
}

fn build(rows: &Rows, vfs: &Arc<dyn Vfs>, options: &BuildOptions) -> pageway::Result<()> {
    let vectors = VectorSlice::new(&rows.bytes, rows.shape)?;
    let ids = rows.ids.as_ref().map(|ids| IdSlice(ids));
    let ids = ids.as_ref().map(|ids| ids as _);
    let texts: Vec<String> = (0..ROWS).map(document).collect();
    let documents = TextSlice::attributes(&texts);
    let attributes = rows.ids.is_some().then_some(&documents as &dyn TextRead);
    let input = BuildInput::new(&vectors, "rows")
        .with_ids(ids)
        .with_attributes(attributes);
    Index::build_on(vfs, Path::new(DIR), &input, options, &NoProgress).map(|_| ())
}

/// Replaces rows by equals in two flushes, and leaves a copy of the index, without a log, in its
/// place.
fn replace(rows: &Rows, vfs: &Arc<dyn Vfs>) {
    let dir = Path::new(DIR);
    let update = UpdateOptions::default().with_threads(1);
    let writer = Writer::open_on(vfs, dir, &OpenOptions::default(), &update).unwrap();
    for first in [0, 20] {
        let ids: Vec<u64> = (first..first + 20).collect();
        let bytes = &rows.bytes[first as usize * rows.shape.row_bytes()..];
        let bytes = &bytes[..ids.len() * rows.shape.row_bytes()];
        let own = PutRows::new(bytes, rows.shape).with_ids(&*ids);
        writer.upsert(&own).unwrap();
        writer.flush(&NoProgress).unwrap();
    }
    let copy = Path::new("/copy");
    writer.snapshot(copy, &NoProgress).unwrap();
    writer.close().unwrap();
    let remove = |name: &String| vfs.remove_file(&dir.join(name));
    let own = names(vfs.as_ref(), dir);
    own.iter()
        .filter(|name| is_file(name))
        .for_each(|name| remove(name).unwrap());
    for name in names(vfs.as_ref(), copy)
        .iter()
        .filter(|name| is_file(name))
    {
        let bytes = contents(vfs.as_ref(), &copy.join(name));
        let file = vfs.open(&dir.join(name), OpenMode::CreateNew).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
    }
}

/// Whether a name is that of a file of an index.
fn is_file(name: &str) -> bool {
    name == "MANIFEST" || Path::new(name).extension().is_some_and(|own| own == "pw")
}

fn check_kind(error: &Error, file: &str) -> Result<(), String> {
    let by_bytes = [ErrorKind::Corrupt, ErrorKind::Incompatible];
    // A manifest may ask for what is legal and is not here, or does not fit.
    let by_manifest = [
        ErrorKind::NotFound,
        ErrorKind::InvalidInput,
        ErrorKind::Unsupported,
    ];
    let kind = error.kind();
    // Forged terms may tell of fewer fields than a filter asks for.
    let is_field = file == "terms" && error.to_string().contains("no row has a field");
    if by_bytes.contains(&kind) || is_field || file == "MANIFEST" && by_manifest.contains(&kind) {
        return Ok(());
    }
    Err(error.to_string())
}
