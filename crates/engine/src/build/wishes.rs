//! What options ask of a design: sizes, spec, and choices that override it.

use super::choose::SpecChoice;
use super::cut::Cut;
use super::thrift::Thrift;
use crate::error::Result;
use crate::manifest::DesignWish;
use crate::options::BuildOptions;
use crate::plan::beside_bytes;
use crate::presets::choices::Wishes;
use crate::spec::{IndexSpec, Shape, Sizes};

impl BuildOptions {
    /// The sizes that these options give a design, with ids that are row numbers.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            max_degree: self.degree,
            build_list: self.build_list,
            alpha: self.alpha,
            page_bytes: self.page_bytes,
            beam: self.beam,
            seed: self.seed,
            ..Sizes::default()
        }
    }

    /// The spec of an index that a build with these options makes of `nodes` vectors of `shape`:
    /// with the form of the design and the length of its codes that the memory holds.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be, or for memory that is too little, with the least that
    /// works.
    pub fn spec_for(&self, shape: Shape, nodes: u32) -> Result<IndexSpec> {
        let choice = self.choice(shape, nodes)?;
        let (spec, _) = choice.first(choice.search_memory(), Ok)?;
        Ok(spec)
    }

    /// The same where a few segments lie beside that of `nodes`: how many, and rows of each. As if
    /// there were none where memory is too small for that.
    pub(crate) fn spec_beside(
        &self,
        shape: Shape,
        nodes: u32,
        others: (u32, u32),
    ) -> Result<IndexSpec> {
        let choice = self.choice(shape, nodes)?;
        let memory = choice.search_memory();
        let (alone, _) = choice.first(memory, Ok)?;
        let left = memory.saturating_sub(beside_bytes((&alone, nodes), others)?);
        let beside = choice.first(left, Ok);
        Ok(beside.map_or(alone, |(spec, _)| spec))
    }

    /// The wish for a design in these options; `None` if codes or graph of another index settle it.
    pub(crate) fn design_wish(&self) -> Option<DesignWish> {
        let is_free = self.codebook_from.is_none() && self.graph_from.is_none();
        is_free.then(|| DesignWish {
            preset: self.preset,
            form: self.form.clone(),
            memory: self.memory,
            disk: self.disk,
            code_bytes: self.code_bytes,
            degree: self.degree,
            build_list: self.build_list,
            alpha: self.alpha,
            beam: self.beam,
            overrides: self.overrides,
        })
    }

    /// Options that wish the same again, for an index of the shape, pages and seed of `spec`.
    pub(crate) fn of_wish(wish: &DesignWish, spec: &IndexSpec) -> Self {
        Self {
            metric: spec.shape.metric,
            page_bytes: spec.layout.page_bytes,
            seed: spec.seed,
            preset: wish.preset,
            form: wish.form.clone(),
            memory: wish.memory,
            disk: wish.disk,
            code_bytes: wish.code_bytes,
            degree: wish.degree,
            build_list: wish.build_list,
            alpha: wish.alpha,
            beam: wish.beam,
            overrides: wish.overrides,
            ..Self::default()
        }
    }

    /// Memory of searches over an index of `nodes` vectors: as wished, or the default.
    ///
    /// # Errors
    /// `InvalidInput` for more vectors than an index can have.
    pub(crate) fn memory_for(&self, shape: Shape, nodes: u32) -> Result<u64> {
        Ok(self.choice(shape, nodes)?.search_memory())
    }

    /// These options with choices that are wished over their design: over each of its forms, and
    /// the first that memory then holds is taken. Where a wish says all of a choice, the form is
    /// left open.
    ///
    /// # Errors
    /// `InvalidInput` for a wish that cannot be, or with the refusal of the first form where none
    /// can be built.
    pub fn wishing(&self, wishes: &Wishes, shape: Shape, nodes: u32) -> Result<Self> {
        let choice = self.choice(shape, nodes)?;
        let sizes = self.sizes();
        let mut refused = None;
        for form in choice.forms() {
            let overrides = wishes.over(&(form.spec)(shape, &sizes), &sizes);
            let wished = overrides.map(|overrides| Self {
                overrides,
                form: (!form.name.is_empty()).then(|| form.name.to_owned()),
                ..self.clone()
            });
            if !wishes.depend_on_design() {
                return wished.map(|wished| Self {
                    form: self.form.clone(),
                    ..wished
                });
            }
            let built = wished.and_then(|wished| wished.spec_for(shape, nodes).map(|_| wished));
            match built {
                Ok(wished) => return Ok(wished),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| choice.no_such_form()))
    }

    fn choice(&self, shape: Shape, nodes: u32) -> Result<SpecChoice<'_>> {
        Ok(SpecChoice {
            shape,
            options: self,
            sizes: self.sizes(),
            code_bytes: self.code_bytes,
            cut: Cut::new(nodes, self.segments)?,
            row_bytes: shape.vectors().row_bytes() as u64,
            filters: 0,
            thrift: Thrift::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};

    use super::*;
    use crate::memory::MemoryWish;
    use crate::spec::{PageCacheSpec, RefineSpec};

    const SHAPE: Shape = Shape {
        dimension: 384,
        element: ElementType::F32,
        metric: Metric::Cosine,
    };
    const NODES: u32 = 1_000_000;

    fn wished(options: &BuildOptions, wishes: &str) -> Result<IndexSpec> {
        let wishes = Wishes::read(wishes)?;
        let wished = options.wishing(&wishes, SHAPE, NODES)?;
        wished.spec_for(SHAPE, NODES)
    }

    /// Options by form, and by memory that chooses it.
    fn all() -> Vec<(&'static str, BuildOptions)> {
        let mut all = Vec::new();
        for (form, share) in [("resident", 0.3), ("clustered", 0.08), ("on-disk", 0.02)] {
            let options = BuildOptions {
                memory: Some(MemoryWish::Share(share)),
                ..BuildOptions::default()
            };
            all.push((form, options.clone()));
            let form = Some(form.to_owned());
            all.push(("named", BuildOptions { form, ..options }));
        }
        all
    }

    #[test]
    fn one_field_leaves_the_others_of_the_form() {
        for (form, options) in all() {
            let own = options.spec_for(SHAPE, NODES).unwrap();
            let share = if own.cache.nodes.is_none() { 0.0 } else { 0.5 };
            let wish = format!(r#"{{"cache": {{"pages": "lru", "page_share": {share}}}}}"#);
            let mut expected = own.clone();
            expected.cache.pages = PageCacheSpec::Lru;
            expected.cache.page_share = share;
            let found = wished(&options, &wish).unwrap();
            // Where pages are cached, codes may take what further queries would have.
            expected.storage.quantizer = found.storage.quantizer;
            assert_eq!(found, expected, "{form}");
            let found = wished(&options, r#"{"refine": {"deviations": 1.5}}"#).unwrap();
            let mut expected = own.clone();
            expected.execution.refine = RefineSpec::Bounded { deviations: 1.5 };
            assert_eq!(found, expected, "{form}");
            assert_eq!(wished(&options, "{}").unwrap(), own, "{form}");
        }
    }

    #[test]
    fn a_field_that_only_one_form_has_chooses_that_form() {
        let options = BuildOptions::default();
        let found = wished(&options, r#"{"graph": {"members": 30}}"#).unwrap();
        assert_eq!(found.graph.members(), Some(30));
        let refused = wished(&options, r#"{"graph": {"member": 30}}"#).unwrap_err();
        let said = "graph pipnn has no field 'member'";
        assert!(refused.context().contains(said), "{refused}");
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        for (wish, said) in [
            (
                r#"{"placment": "bnf"}"#,
                "there is no 'placment'; choose graph, ",
            ),
            (r#"{"placment": "bnf"}"#, "; perhaps 'placement'"),
            (r#"{"cache_nodes": "lru"}"#, "there is no 'cache_nodes'; "),
            (
                r#"{"placement": "bfn"}"#,
                "placement: there is no 'bfn'; choose by_id, ",
            ),
            (r#"{"placement": "bfn"}"#, "; perhaps 'bnf'"),
            (
                r#"{"cache": {"page": "lru"}}"#,
                "cache has no field 'page'; its fields: nodes, ",
            ),
            (
                r#"{"cache": {"pages": "big"}}"#,
                "there is no 'big'; choose none, hot, lru, clock",
            ),
            (r#"{"cache": 3}"#, "cache is 3: give a dict"),
            (
                r#"{"slack": "much"}"#,
                "slack is \"much\": give a number from 0 to 1",
            ),
            (
                r#"{"ids_in_memory": 1}"#,
                "ids_in_memory is 1: give True or False",
            ),
            (
                r#"{"second_code_bytes": -4}"#,
                "second_code_bytes is -4: give a number of bytes",
            ),
            ("[]", "overrides: "),
        ] {
            let refused = wished(&BuildOptions::default(), wish).unwrap_err();
            assert!(refused.context().contains(said), "{wish}: {refused}");
        }
    }
}
