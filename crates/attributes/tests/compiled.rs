//! The nodes that files give are those whose documents match, one by one.
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use pageway_attributes::{
    Area, Attributes, Bounds, Document, DocumentFile, DocumentWriter, Moment, NodeIds, Number,
    Path, Place, Predicate, Scalar, TermFile, TermWriter, Test, Words, compile_bytes,
    matching_without, terms_of, tokens,
};
use pageway_store::{BlobWriter, FileUuid, OsVfs, PageGeometry};
use proptest::prelude::*;
use serde_json::{Value, json};

fn written(dir: &FilePath, documents: &[Document]) -> Attributes {
    let blob = |name: &str, kind: u16| {
        let geometry = PageGeometry::new(4096, 1).unwrap();
        let uuid = FileUuid([kind as u8; 16]);
        BlobWriter::create(&OsVfs, &dir.join(name), kind, geometry, uuid).unwrap()
    };
    let mut own = DocumentWriter::new(blob("documents.pw", 1));
    let mut all = Vec::new();
    for (node, document) in (0u32..).zip(documents) {
        own.push(&serde_json::to_vec(document).unwrap()).unwrap();
        all.extend(
            terms_of(document)
                .unwrap()
                .into_iter()
                .map(|term| (term, node)),
        );
    }
    all.sort();
    let mut terms = TermWriter::new(blob("terms.pw", 2));
    for (term, node) in &all {
        terms.push(term, *node).unwrap();
    }
    let nodes = documents.len() as u32;
    let (own, terms) = (own.finish().unwrap(), terms.finish(nodes).unwrap());
    Attributes::new(
        TermFile::open(&OsVfs, dir, &terms, nodes).unwrap(),
        DocumentFile::open(&OsVfs, dir, &own, nodes).unwrap(),
    )
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        (-6i64..7).prop_map(|half| json!(half as f64 / 2.0)),
        (0u64..5).prop_map(|over| json!((1u64 << 63) - 2 + over)),
        (0u64..2).prop_map(|over| json!((1u64 << 63) as f64 + 4096.0 * over as f64)),
        prop::sample::select(vec![
            "red",
            "Red fox",
            "fox red",
            "blue",
            "",
            "2026-01-31",
            "2026-02-01T10:00Z"
        ])
        .prop_map(Value::from),
        (0usize..3).prop_map(|kind| json!(format!("{}{kind}", "long ".repeat(30)))),
        (-2i32..3, -2i32..3).prop_map(|(lat, lon)| json!({"lat": lat, "lon": f64::from(lon)})),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner, 0..3)
                .prop_map(|map| map
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
        ]
    })
}

fn document() -> impl Strategy<Value = Document> {
    prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), value(), 0..4).prop_map(
        |map| {
            map.into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()
        },
    )
}

fn path() -> impl Strategy<Value = Path> {
    let paths = vec![
        "a", "b", "c", "a[]", "b[]", "a.b", "a[].b", "a[].b[]", "c[0]", "a[1].b", "a.b.c", "b.a",
        "c.lat", "a[][]", "missing",
    ];
    prop::sample::select(paths).prop_map(|path| Path::parse(path).unwrap())
}

fn scalars() -> impl Strategy<Value = BTreeSet<Scalar>> {
    let one = prop_oneof![
        any::<bool>().prop_map(Scalar::Bool),
        (-3i64..4).prop_map(Scalar::Int),
        prop::sample::select(vec!["red", "blue", "", "fox red"])
            .prop_map(|text| Scalar::Text(text.to_owned())),
        (0usize..3).prop_map(|kind| Scalar::Text(format!("{}{kind}", "long ".repeat(30)))),
    ];
    prop::collection::btree_set(one, 0..4)
}

fn bounds<T: Clone + std::fmt::Debug>(
    one: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Bounds<T>> {
    let some = || prop::option::weighted(0.4, one.clone());
    (some(), some(), some(), some()).prop_map(|(gt, gte, lt, lte)| Bounds { gt, gte, lt, lte })
}

fn number() -> impl Strategy<Value = Number> + Clone {
    prop_oneof![
        (-4i64..5).prop_map(Number::Int),
        (-8i64..9).prop_map(|half| Number::Float(half as f64 / 2.0)),
        (0i64..2).prop_map(|under| Number::Int(i64::MAX - under)),
        (0u64..4).prop_map(|over| Number::Large((1u64 << 63) + over)),
        (0u64..2).prop_map(|over| Number::Float((1u64 << 63) as f64 + 4096.0 * over as f64)),
    ]
}

fn area() -> impl Strategy<Value = Area> {
    let place = || {
        (-2i32..3, -2i32..3).prop_map(|(lat, lon)| Place {
            lat: lat.into(),
            lon: lon.into(),
        })
    };
    let corner = |lat, lon| Place { lat, lon };
    prop_oneof![
        (place(), place()).prop_map(|(top_left, bottom_right)| Area::Box {
            top_left,
            bottom_right
        }),
        (place(), 0f64..400_000.0).prop_map(|(center, metres)| Area::Radius { center, metres }),
        (0.5f64..3.0).prop_map(move |half| Area::Polygon {
            exterior: vec![
                corner(-half, -half),
                corner(-half, half),
                corner(half, half),
                corner(half, -half),
                corner(-half, -half)
            ],
            interiors: vec![],
        }),
    ]
}

fn test() -> impl Strategy<Value = Test> {
    let words = prop::sample::select(vec!["red", "fox red", "Red FOX", "", "long long", "2026"]);
    let how = prop::sample::select(vec![Words::All, Words::Any, Words::Phrase]);
    let moment = prop::sample::select(vec![
        "2026-01-31",
        "2026-02-01T10:00:00Z",
        "2026-02-01T12:00+02:00",
    ])
    .prop_map(|text| Moment::parse(text).unwrap());
    prop_oneof![
        scalars().prop_map(Test::In),
        scalars().prop_map(Test::Except),
        bounds(number()).prop_map(Test::Range),
        bounds(moment).prop_map(Test::Time),
        (how, words).prop_map(|(how, text)| Test::Words(how, tokens(text).collect())),
        prop::sample::select(vec!["", "r", "red", "long long long"])
            .prop_map(|text| Test::Prefix(text.to_owned())),
        bounds(0u64..4).prop_map(Test::Count),
        Just(Test::Empty),
        Just(Test::Null),
        area().prop_map(Test::Geo),
    ]
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let leaf = prop_oneof![
        8 => (path(), test()).prop_map(|(path, test)| Predicate::Field { path, test }),
        1 => Just(Predicate::All),
        1 => prop::collection::btree_set(100u64..120, 0..6).prop_map(Predicate::HasId),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            some().prop_map(Predicate::And),
            some().prop_map(Predicate::Or),
            inner.clone().prop_map(|of| Predicate::Not(Box::new(of))),
            (0usize..4, some()).prop_map(|(count, of)| Predicate::AtLeast { count, of }),
            (path(), inner.clone()).prop_map(|(path, of)| Predicate::Nested {
                path,
                of: Box::new(of)
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn files_give_what_documents_say(
        documents in prop::collection::vec(document(), 1..60),
        predicates in prop::collection::vec(predicate(), 24),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let attributes = written(dir.path(), &documents);
        attributes.verify().unwrap();
        // Ids are 100 more than nodes.
        let id = |node: u32| u64::from(node) + 100;
        let ids: NodeIds = (0..documents.len() as u32).map(|node| (node, id(node))).collect();
        for predicate in predicates {
            let canonical = predicate.clone().canonical().unwrap();
            prop_assert_eq!(&canonical.clone().canonical().unwrap(), &canonical);
            let expected: Vec<u32> = (0..)
                .zip(&documents)
                .filter(|(node, document)| predicate.matches(document, Some(id(*node))))
                .map(|(node, _)| node)
                .collect();
            let found = attributes.matching(&canonical, &ids).unwrap();
            let found: Vec<u32> = found.nodes.iter().collect();
            prop_assert_eq!(found, expected, "{:?}", predicate);
            let none = matching_without(&canonical, 30, &NodeIds::new());
            let bare = predicate.matches(&Document::new(), None);
            prop_assert_eq!(none.len(), if bare { 30 } else { 0 });
            prop_assert!(compile_bytes(&canonical, 1000) > 0);
        }
    }
}

#[test]
fn whole_numbers_that_floats_round_are_told_apart() {
    const FIRST: u64 = 1 << 63;
    let dir = tempfile::tempdir().unwrap();
    let documents: Vec<Document> = (0..50u64)
        .map(|row| json!({"n": FIRST + row}).as_object().unwrap().clone())
        .collect();
    let attributes = written(dir.path(), &documents);
    let number = |row: u64| Number::of(&json!(FIRST + row));
    let none = Bounds {
        gt: None,
        gte: None,
        lt: None,
        lte: None,
    };
    for (bounds, expected) in [
        (
            Bounds {
                gte: number(7),
                lte: number(7),
                ..none
            },
            7..8,
        ),
        (
            Bounds {
                gt: number(40),
                ..none
            },
            41..50,
        ),
        (
            Bounds {
                lt: Number::of(&json!(FIRST as f64)),
                ..none
            },
            0..0,
        ),
    ] {
        let (path, test) = (Path::parse("n").unwrap(), Test::Range(bounds));
        let predicate = Predicate::Field { path, test };
        let canonical = predicate.canonical().unwrap();
        let found = attributes.matching(&canonical, &NodeIds::new()).unwrap();
        assert!(found.nodes.iter().eq(expected));
    }
}

#[test]
fn many_terms_make_a_tree_of_several_levels() {
    let dir = tempfile::tempdir().unwrap();
    let documents: Vec<Document> = (0..30_000u32)
        .map(|row| {
            let value = json!({"key": format!("value {row}"), "half": row % 2 == 0, "row": row});
            value.as_object().unwrap().clone()
        })
        .collect();
    let attributes = written(dir.path(), &documents);
    attributes.verify().unwrap();
    assert!(attributes.held_bytes() < 70_000);
    let count = |text: &str| {
        let predicate = Predicate::from_expression(text).unwrap();
        let found = attributes.matching(&predicate, &NodeIds::new()).unwrap();
        (found.nodes.len(), found.documents)
    };
    assert_eq!(count("key = 'value 777'"), (1, 0));
    assert_eq!(count("key = 'value'"), (0, 0));
    assert_eq!(count("half = true and row >= 10000"), (10_000, 0));
    assert_eq!(
        count("row between 5 and 9.5 or key contains '29999'"),
        (6, 0)
    );
    assert_eq!(count("not exists(key)"), (0, 0));
    assert_eq!(count("key contains phrase 'value 5'"), (1, 1));
    let fields = attributes.fields().unwrap();
    let shown: Vec<_> = fields
        .iter()
        .map(|field| (field.path.as_str(), field.kinds.join(" "), field.values))
        .collect();
    let bool_field = ("half", "bool".to_owned(), 2);
    assert!(shown.contains(&bool_field), "{shown:?}");
    assert!(attributes.knows(&Path::parse("row").unwrap()).unwrap());
    assert!(!attributes.knows(&Path::parse("rows").unwrap()).unwrap());
}
