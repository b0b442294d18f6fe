//! One condition on a path, by terms.

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::geo::Area;
use crate::instant::Moment;
use crate::known::Known;
use crate::number::Number;
use crate::path::{Path, Step};
use crate::predicate::{Bounds, Scalar, Test, Words};
use crate::term_file::TermFile;
use crate::terms::{
    Tag, float_bytes, int_bytes, moment_bytes, path_key, scalar_term, tag_key, term, text_bytes,
};

/// The values at a path, every index of it standing for all.
pub(crate) struct Leaf<'l> {
    pub(crate) terms: &'l TermFile,
    pub(crate) path: &'l Path,
}

impl Test {
    /// Whether it holds where nothing is.
    pub(crate) fn is_of_absence(&self) -> bool {
        matches!(self, Self::Empty | Self::Count(_))
    }
}

impl Leaf<'_> {
    /// The nodes that a test holds of.
    pub(crate) fn known(&self, test: &Test) -> Result<Known> {
        match test {
            Test::In(of) => self.one_of(of),
            Test::Except(of) => self.none_of(of),
            Test::Range(bounds) => self.range(bounds),
            Test::Time(bounds) => self.time(bounds).map(Known::exactly),
            Test::Words(how, words) => self.words(*how, words),
            Test::Prefix(prefix) => self.prefix(prefix),
            Test::Count(bounds) => self.count(bounds).map(Known::exactly),
            Test::Empty => {
                let filled = self.find(&tag_key(&path_key(self.path), Tag::Filled))?;
                Ok(Known::exactly(filled).negated(self.terms.nodes()))
            }
            Test::Null => {
                let element = Path::extended(Some(self.path.clone()), Step::Each);
                let mut found = self.find(&tag_key(&path_key(self.path), Tag::Null))?;
                self.terms
                    .find(&tag_key(&path_key(&element), Tag::Null), &mut found)?;
                Ok(Known::exactly(found))
            }
            Test::Geo(area) => self.geo(area),
        }
    }

    /// The bytes of the path, and of its elements: an array is taken apart.
    fn keys(&self) -> [Vec<u8>; 2] {
        let element = Path::extended(Some(self.path.clone()), Step::Each);
        [path_key(self.path), path_key(&element)]
    }

    fn find(&self, term: &[u8]) -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        self.terms.find(term, &mut found)?;
        Ok(found)
    }

    fn between(&self, low: &[u8], high: &[u8], found: &mut RoaringBitmap) -> Result<()> {
        self.terms
            .visit(low, high, &mut |_, posting| posting.add_to(found))
    }

    fn one_of(&self, of: &std::collections::BTreeSet<Scalar>) -> Result<Known> {
        let mut known = Known::default();
        for key in self.keys() {
            for scalar in of {
                let (term, whole) = scalar_term(&key, scalar);
                let found = self.find(&term)?;
                known.or(&if whole {
                    Known::exactly(found)
                } else {
                    Known::perhaps(found)
                });
            }
        }
        Ok(known)
    }

    fn none_of(&self, of: &std::collections::BTreeSet<Scalar>) -> Result<Known> {
        let mut known = Known::default();
        for (number, key) in self.keys().iter().enumerate() {
            let listed = || of.iter().map(|scalar| scalar_term(key, scalar));
            // An array that is taken apart is no value itself.
            let last = if number == 0 { Tag::List } else { Tag::Word };
            let mut open = RoaringBitmap::new();
            let certain = &mut known.certain;
            self.terms.visit(
                &tag_key(key, Tag::Bool),
                &tag_key(key, last),
                &mut |term, posting| match listed().find(|(own, _)| own == term) {
                    None => posting.add_to(certain),
                    // Another text may begin the same.
                    Some((_, false)) => posting.add_to(&mut open),
                    Some((_, true)) => Ok(()),
                },
            )?;
            known.or(&Known::perhaps(open));
        }
        Ok(known)
    }

    fn range(&self, bounds: &Bounds<Number>) -> Result<Known> {
        let (mut found, mut open) = (RoaringBitmap::new(), RoaringBitmap::new());
        for key in self.keys() {
            if let Some((low, high)) = int_limits(bounds) {
                let end = high.checked_add(1);
                let end = end.map_or(tag_key(&key, Tag::Float), |end| {
                    term(&key, Tag::Int, &int_bytes(end))
                });
                self.between(&term(&key, Tag::Int, &int_bytes(low)), &end, &mut found)?;
            }
            let (low, high) = float_limits(bounds);
            let low = term(&key, Tag::Float, &low);
            let high = term(&key, Tag::Float, &high);
            let holds = |float| bounds.hold(|bound| Number::Float(float).compare(*bound));
            self.terms
                .visit(&low, &high, &mut |term, posting| match float_of(term) {
                    Some(float) if hides_a_bound(float, bounds) => posting.add_to(&mut open),
                    Some(float) if holds(float) => posting.add_to(&mut found),
                    Some(_) | None => Ok(()),
                })?;
        }
        let mut known = Known::exactly(found);
        known.or(&Known::perhaps(open));
        Ok(known)
    }

    fn time(&self, bounds: &Bounds<Moment>) -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        for key in self.keys() {
            let mut low = tag_key(&key, Tag::Moment);
            let mut high = tag_key(&key, Tag::Count);
            let bytes = |moment| term(&key, Tag::Moment, &moment_bytes(moment));
            // No term lies between a term and itself with a zero behind it.
            let behind = |moment| bytes(moment).into_iter().chain([0]).collect::<Vec<u8>>();
            let lows = [bounds.gte.map(bytes), bounds.gt.map(behind)];
            let highs = [bounds.lt.map(bytes), bounds.lte.map(behind)];
            low = lows.into_iter().flatten().fold(low, Ord::max);
            high = highs.into_iter().flatten().fold(high, Ord::min);
            self.between(&low, &high, &mut found)?;
        }
        Ok(found)
    }

    fn words(&self, how: Words, words: &[String]) -> Result<Known> {
        let mut each = Vec::with_capacity(2);
        for word in words {
            let (bytes, whole) = text_bytes(word);
            let mut found = RoaringBitmap::new();
            for key in self.keys() {
                self.terms.find(&term(&key, Tag::Word, bytes), &mut found)?;
            }
            let own = if whole {
                Known::exactly(found)
            } else {
                Known::perhaps(found)
            };
            match (each.first_mut(), how) {
                (None, _) => each.push(own),
                (Some(known), Words::Any) => Known::or(known, &own),
                (Some(known), Words::All | Words::Phrase) => Known::and(known, &own),
            }
        }
        let known = each.pop().unwrap_or_default();
        if words.len() < 2 || how == Words::Any {
            return Ok(known);
        }
        // They may stand in several texts, or in another order.
        Ok(Known::perhaps(known.certain | known.open))
    }

    fn prefix(&self, prefix: &str) -> Result<Known> {
        let mut known = Known::default();
        let (bytes, whole) = text_bytes(prefix);
        for key in self.keys() {
            for tag in [Tag::Text, Tag::LongText] {
                let low = term(&key, tag, bytes);
                let high = behind_all(&low);
                let mut found = RoaringBitmap::new();
                self.between(&low, &high, &mut found)?;
                known.or(&if whole {
                    Known::exactly(found)
                } else {
                    Known::perhaps(found)
                });
            }
        }
        Ok(known)
    }

    fn count(&self, bounds: &Bounds<u64>) -> Result<RoaringBitmap> {
        let key = path_key(self.path);
        let holds = |count: u64| bounds.hold(|bound| count.cmp(bound));
        let (mut found, mut counted) = (RoaringBitmap::new(), RoaringBitmap::new());
        let (low, high) = (tag_key(&key, Tag::Count), tag_key(&key, Tag::Filled));
        self.terms.visit(&low, &high, &mut |term, posting| {
            let count = term
                .last_chunk()
                .map_or(0, |count| u64::from_be_bytes(*count));
            if holds(count) {
                posting.add_to(&mut found)
            } else if holds(0) {
                posting.add_to(&mut counted)
            } else {
                Ok(())
            }
        })?;
        if !holds(0) {
            return Ok(found);
        }
        // What has no count has none.
        counted |= &found;
        let mut all = Known::exactly(counted).negated(self.terms.nodes()).certain;
        all |= found;
        Ok(all)
    }

    /// Places whose latitude lies in a band that holds the area.
    fn geo(&self, area: &Area) -> Result<Known> {
        let (south, north) = area.latitudes();
        let band = Bounds {
            gte: Some(Number::Float(south)),
            lte: Some(Number::Float(north)),
            gt: None,
            lt: None,
        };
        let mut found = RoaringBitmap::new();
        let element = Path::extended(Some(self.path.clone()), Step::Each);
        for place in [self.path.clone(), element] {
            let latitude = Path::extended(Some(place), Step::Key("lat".to_owned()));
            let leaf = Leaf {
                terms: self.terms,
                path: &latitude,
            };
            found |= leaf.range(&band)?.certain;
        }
        Ok(Known::perhaps(found))
    }
}

/// The first and the last integer within bounds, if there is any.
fn int_limits(bounds: &Bounds<Number>) -> Option<(i64, i64)> {
    let holds = |int| bounds.hold(|bound| Number::Int(int).compare(*bound));
    let low = |bound: &Number| match bound {
        Number::Int(int) => *int,
        Number::Large(_) => i64::MAX,
        Number::Float(float) => float.ceil() as i64,
    };
    let high = |bound: &Number| match bound {
        Number::Int(int) => *int,
        Number::Large(_) => i64::MAX,
        Number::Float(float) => float.floor() as i64,
    };
    let lows = [bounds.gt, bounds.gte].into_iter().flatten();
    let highs = [bounds.lt, bounds.lte].into_iter().flatten();
    let mut first = lows.map(|bound| low(&bound)).max().unwrap_or(i64::MIN);
    let mut last = highs.map(|bound| high(&bound)).min().unwrap_or(i64::MAX);
    // What a bound excludes is one number at either end.
    if !holds(first) {
        first = first.checked_add(1)?;
    }
    if !holds(last) {
        last = last.checked_sub(1)?;
    }
    (first <= last && holds(first) && holds(last)).then_some((first, last))
}

/// Bytes before and behind every float within bounds.
fn float_limits(bounds: &Bounds<Number>) -> (Vec<u8>, Vec<u8>) {
    let float = rounded;
    // An integer that is rounded moves by no more than a step.
    let low = bounds.gt.iter().chain(&bounds.gte).map(float);
    let low = low.fold(f64::NEG_INFINITY, f64::max).next_down();
    let high = bounds.lt.iter().chain(&bounds.lte).map(float);
    let high = high.fold(f64::INFINITY, f64::min).next_up();
    let behind = float_bytes(high).into_iter().chain([0]).collect();
    (float_bytes(low).to_vec(), behind)
}

/// A number as the float that terms have for it, where it is no integer of theirs.
fn rounded(number: &Number) -> f64 {
    match number {
        Number::Int(int) => *int as f64,
        Number::Large(large) => *large as f64,
        Number::Float(float) => *float,
    }
}

/// Whether a float stands for integers on both sides of a bound: those of 2^63 and above are
/// rounded in terms.
fn hides_a_bound(float: f64, bounds: &Bounds<Number>) -> bool {
    const BEGIN: f64 = 9_223_372_036_854_775_808.0;
    let all = [bounds.gt, bounds.gte, bounds.lt, bounds.lte];
    let mut near = all.iter().flatten().map(rounded);
    (BEGIN..=2.0 * BEGIN).contains(&float) && near.any(|bound| bound == float)
}

/// The float at the end of a term.
fn float_of(term: &[u8]) -> Option<f64> {
    let sortable = u64::from_be_bytes(*term.last_chunk()?);
    let positive = sortable >> 63 == 1;
    let bits = if positive {
        sortable ^ 1 << 63
    } else {
        !sortable
    };
    Some(f64::from_bits(bits))
}

/// What lies behind everything that begins so.
fn behind_all(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}
