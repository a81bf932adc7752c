//! Generations without an API server: each change of a spec is one more, over restarts too.

use std::collections::BTreeMap;

use hedgerow_config::digest::digest;
use hedgerow_crds::Kind;
use serde::Serialize;

use super::status_file::StatusFiles;
use crate::domain::Resource;

/// What is known of every object's generation.
#[derive(Debug, Default)]
pub(super) struct Generations {
    known: BTreeMap<(Kind, String), (i64, String)>,
}

impl Generations {
    /// Gives an object its generation: the one it had if its spec is the same, else the next.
    pub(super) fn stamp(&mut self, resource: &mut Resource, files: &StatusFiles) {
        let key = (resource.kind(), resource.name().to_owned());
        let spec = spec_digest(resource);
        let before = self.known.get(&key).cloned().or_else(|| files.generation(key.0, &key.1));
        let generation = match before {
            Some((generation, same)) if same == spec => generation,
            Some((generation, _)) => generation + 1,
            None => 1,
        };
        resource.set_generation(generation);
        self.known.insert(key, (generation, spec));
    }

    /// Digest of the spec that an object had when it was stamped; empty if it never was.
    pub(super) fn spec(&self, kind: Kind, name: &str) -> &str {
        self.known.get(&(kind, name.to_owned())).map_or("", |(_, spec)| spec)
    }
}

fn spec_digest(resource: &Resource) -> String {
    fn of(spec: &impl Serialize) -> String {
        digest(&serde_json::to_vec(spec).unwrap_or_default())
    }
    match resource {
        Resource::Route(object) => of(&object.spec),
        Resource::Policy(object) => of(&object.spec),
        Resource::Lane(object) => of(&object.spec),
        Resource::Fleet(object) => of(&object.spec),
    }
}

#[cfg(test)]
mod tests {
    use super::super::status_file::Document;
    use super::*;
    use crate::domain::Object;
    use hedgerow_crds::v1alpha1::{PriorityLaneSpec, PriorityLaneStatus};
    use hedgerow_policy::time::Moment;

    fn lane(priority: i32) -> Resource {
        let spec: PriorityLaneSpec =
            serde_json::from_value(serde_json::json!({ "priority": priority })).unwrap();
        Resource::Lane(Object::local(Kind::PriorityLane, "local", "batch", spec))
    }

    fn stamped(generations: &mut Generations, files: &StatusFiles, priority: i32) -> i64 {
        let mut lane = lane(priority);
        generations.stamp(&mut lane, files);
        lane.generation()
    }

    #[test]
    fn a_generation_grows_with_each_change_and_is_kept_over_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let files = StatusFiles::open(directory.path()).unwrap();
        let mut generations = Generations::default();
        let seen: Vec<i64> =
            [10, 10, 20, 10].map(|priority| stamped(&mut generations, &files, priority)).into();
        assert_eq!(seen, [1, 1, 2, 3]);
        let spec = generations.spec(Kind::PriorityLane, "batch").to_owned();
        let document =
            Document::new(Kind::PriorityLane, "batch", "u", 3, &spec, PriorityLaneStatus::default());
        files.write(Kind::PriorityLane, "batch", document, Moment::ZERO).unwrap();

        let files = StatusFiles::open(directory.path()).unwrap();
        assert_eq!(stamped(&mut Generations::default(), &files, 10), 3, "the same spec");
        assert_eq!(stamped(&mut Generations::default(), &files, 11), 4, "changed while nobody watched");
    }
}
