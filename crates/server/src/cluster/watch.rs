//! What a router does as time passes: heartbeats, and reading the map again.

use std::path::Path;
use std::sync::Arc;

use pageway::Result;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::map::ClusterMap;
use super::routed::Cluster;
use crate::log::{Level, Log};

/// Heartbeats between two looks at the file of the map.
const BEATS_EACH: u64 = 3;

/// Watches nodes and the file of the map, for good.
pub(super) async fn watch(cluster: Arc<Cluster>, file: &Path, log: Log) {
    let mut ticks = interval(cluster.pool().patience.heartbeat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut trouble = String::new();
    for beat in 0_u64.. {
        ticks.tick().await;
        for (name, address) in &cluster.map().nodes {
            tokio::spawn(ask(Arc::clone(&cluster), name.clone(), address.clone()));
        }
        if beat % BEATS_EACH != BEATS_EACH - 1 {
            continue;
        }
        match look(&cluster, file) {
            Ok(None) => trouble.clear(),
            Ok(Some(version)) => {
                trouble.clear();
                log.tell(Level::Info, "map", json!({"version": version}));
            }
            Err(error) => {
                let words = error.to_string();
                if words != trouble {
                    log.tell(Level::Error, "map not read", json!({"error": words}));
                    trouble = words;
                }
            }
        }
    }
}

/// Asks a node for a sign of life.
pub(super) async fn ask(cluster: Arc<Cluster>, name: String, address: String) {
    let left = cluster.pool().patience.silence;
    let answer = cluster.client.sign_of(&address, left).await;
    let now = cluster.now();
    match answer {
        Ok(own) if own.name == name => {
            cluster.pool().hear(&name, now);
            cluster.leaders().hear(&name, &own.partitions);
            cluster.contents().hear(&name, own.shards);
        }
        Ok(own) => {
            let words = format!("{address} is node {:?}", own.name);
            cluster.pool().miss(&name, &words);
        }
        Err(why) => cluster.pool().miss(&name, &why),
    }
}

/// Uses the map of the file where it is a later one; tells its version then.
fn look(cluster: &Cluster, file: &Path) -> Result<Option<u64>> {
    let (now, next) = (cluster.map(), ClusterMap::read(file)?);
    if *now == next {
        return Ok(None);
    }
    now.check_next(&next)?;
    let version = next.version;
    cluster.set_map(next);
    Ok(Some(version))
}
