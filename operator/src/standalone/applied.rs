//! What a change of the files changed, a line per object, so that whoever edits one sees that it arrived.
//!
//! Input: the objects that are in force after each reading, with their generations. Output: lines; none for the first
//! reading, because then everything is new.

use std::collections::BTreeMap;

use hedgerow_crds::Kind;

use crate::domain::Resource;

/// The objects of the last reading and their generations.
#[derive(Debug, Default)]
pub(super) struct Applied {
    known: Option<BTreeMap<(Kind, String), i64>>,
}

impl Applied {
    /// Takes in a reading.
    pub(super) fn take<'a>(&mut self, objects: impl Iterator<Item = &'a Resource>) -> Vec<String> {
        let now: BTreeMap<(Kind, String), i64> =
            objects.map(|object| ((object.kind(), object.name().to_owned()), object.generation())).collect();
        let Some(before) = self.known.replace(now.clone()) else { return Vec::new() };
        let named = |(kind, name): &(Kind, String)| format!("{} {name}", kind.as_str());
        let mut lines = Vec::new();
        for (object, generation) in &now {
            match before.get(object) {
                None => lines.push(format!("{}: added", named(object))),
                Some(old) if old != generation => {
                    lines.push(format!("{}: changed, now generation {generation}", named(object)));
                }
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|object| !now.contains_key(object));
        lines.extend(gone.map(|object| format!("{}: removed", named(object))));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Object;
    use hedgerow_crds::v1alpha1::PriorityLaneSpec;

    fn lane(name: &str, generation: i64) -> Resource {
        let spec: PriorityLaneSpec = serde_json::from_value(serde_json::json!({ "priority": 1 })).unwrap();
        let mut lane = Resource::Lane(Object::local(Kind::PriorityLane, "local", name, spec));
        lane.set_generation(generation);
        lane
    }

    #[test]
    fn each_object_that_changed_has_its_line_and_the_first_reading_none() {
        let mut applied = Applied::default();
        let mut lines = |lanes: &[Resource]| applied.take(lanes.iter());
        assert!(lines(&[lane("a", 1), lane("b", 4)]).is_empty());
        assert!(lines(&[lane("a", 1), lane("b", 4)]).is_empty(), "nothing changed");
        assert_eq!(
            lines(&[lane("b", 5), lane("c", 1)]),
            ["PriorityLane b: changed, now generation 5", "PriorityLane c: added", "PriorityLane a: removed"]
        );
    }
}
