//! Other names of collections.

use serde::Deserialize;
use serde_json::json;

use super::call::{Call, Reply};
use crate::failure::{Failure, Outcome};
use crate::registry::{Names, check_name};

#[derive(Deserialize)]
struct AliasActions {
    actions: Vec<AliasAction>,
}

#[derive(Deserialize)]
enum AliasAction {
    #[serde(rename = "create_alias")]
    Create {
        collection_name: String,
        alias_name: String,
    },
    #[serde(rename = "delete_alias")]
    Delete { alias_name: String },
    #[serde(rename = "rename_alias")]
    Rename {
        old_alias_name: String,
        new_alias_name: String,
    },
}

/// Does all actions, or none.
pub(super) fn update(call: &Call<'_>) -> Outcome<Reply> {
    let AliasActions { actions } = call.read()?;
    let registry = &call.service.registry;
    let turn = registry.turn();
    registry.change(&turn, |names| {
        actions.iter().try_for_each(|action| apply(names, action))
    })?;
    Reply::of(&true)
}

fn apply(names: &mut Names, action: &AliasAction) -> Outcome<()> {
    match action {
        AliasAction::Create {
            collection_name,
            alias_name,
        } => {
            check_alias(names, alias_name)?;
            if !names.collections.contains_key(collection_name) {
                return Err(Failure::no_collection(collection_name));
            }
            names
                .aliases
                .insert(alias_name.clone(), collection_name.clone());
        }
        AliasAction::Delete { alias_name } => {
            names.aliases.remove(alias_name);
        }
        AliasAction::Rename {
            old_alias_name,
            new_alias_name,
        } => {
            check_alias(names, new_alias_name)?;
            let target = names.aliases.remove(old_alias_name);
            let target = target.ok_or_else(|| {
                Failure::not_found(format_args!("Alias {old_alias_name} does not exists!"))
            })?;
            names.aliases.insert(new_alias_name.clone(), target);
        }
    }
    Ok(())
}

fn check_alias(names: &Names, alias: &str) -> Outcome<()> {
    check_name(alias)?;
    if names.collections.contains_key(alias) {
        let words = format!("Collection `{alias}` already exists!");
        return Err(Failure::conflict(words));
    }
    Ok(())
}

/// All aliases.
pub(super) fn list(call: &Call<'_>) -> Outcome<Reply> {
    reply(&call.service.registry.names(), None)
}

/// Those of a collection.
pub(super) fn of_collection(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    reply(&call.service.registry.names(), Some(&name))
}

fn reply(names: &Names, of: Option<&str>) -> Outcome<Reply> {
    let own = names
        .aliases
        .iter()
        .filter(|(_, target)| of.is_none_or(|of| of == target.as_str()));
    let all = own.map(|(alias, target)| json!({"alias_name": alias, "collection_name": target}));
    Reply::of(&json!({"aliases": all.collect::<Vec<_>>()}))
}
