//! The children of one fleet: rendered when something changed, written where they live differently.

use std::collections::BTreeMap;

use hedgerow_config::GatewayConfig;
use hedgerow_crds::condition::Reason;
use kube::api::DynamicObject;

use super::Context;
use crate::{
    cluster::{ApplyError, FleetId, Settled, is_newer, is_owned},
    domain::Snapshot,
    render::{
        Mounts, Reach,
        children::{self, Child, ChildKind, Identity, Owner, Plan, TooLarge},
    },
    status::Trouble,
};

/// What the fleet should have, and how it was left.
#[derive(Debug, Default)]
pub(super) struct Children {
    rendered: Vec<Child>,
    unwanted: Vec<ChildKind>,
    settled: BTreeMap<ChildKind, Settled>,
    owner: String,
}

/// What a round of writing gave.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// What stands in the way, in the order of the children.
    pub(super) trouble: Option<Trouble>,
    /// The configuration is stored as rendered.
    pub(super) config: bool,
    /// `fleet.json` was written.
    pub(super) fleet_file: bool,
    /// The pods are being replaced: the template of a Deployment that ran before is another one.
    pub(super) rolls: bool,
    /// The API server did not take something for now.
    pub(super) again: bool,
}

impl Children {
    /// Renders everything anew. If the configuration does not fit, all stays as it was rendered last.
    pub(super) fn render(
        &mut self,
        context: &Context,
        snapshot: &Snapshot,
        owner: &str,
        config: (&GatewayConfig, &[u8]),
        (fleet_file, history): (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<(), TooLarge> {
        if self.owner != owner {
            owner.clone_into(&mut self.owner);
            self.settled.clear();
        }
        let identity = Identity {
            namespace: snapshot.namespace.clone(),
            fleet: snapshot.fleet.clone(),
            owner: Some(Owner { uid: owner.to_owned() }),
        };
        let spec = snapshot.spec();
        let plan = Plan {
            identity: &identity,
            spec,
            image: &context.settings.image,
            mounts: &Mounts::of(snapshot),
            reach: &Reach::of(config.0, spec),
            config: config.1,
            fleet_file,
            history,
        };
        self.rendered = children::children(&plan)?;
        self.unwanted = children::unwanted(spec);
        Ok(())
    }

    /// Writes what lives differently. One that fails does not keep the others from being written, except that pods never
    /// start before what they mount.
    pub(super) async fn settle(&mut self, context: &Context, id: &FleetId, may_roll: bool) -> Written {
        let mut written = Written::default();
        for child in &self.rendered {
            let blocked = written.trouble.is_some() || written.again || !may_roll;
            if child.kind == ChildKind::Deployment && blocked {
                break;
            }
            let live = context.stores.child(&id.namespace, child.kind, &child.name);
            let before = self.settled.get(&child.kind);
            let answer =
                context.hand.settle(&id.namespace, child, &self.owner, live.as_deref(), before).await;
            match answer {
                Ok(settled) => {
                    if settled.wrote {
                        context.metrics.wrote(child.kind.plural());
                        tracing::info!(
                            namespace = id.namespace,
                            fleet = id.name,
                            kind = child.kind.kind(),
                            name = child.name,
                            "written"
                        );
                    }
                    note(&mut written, child, live.as_deref(), &settled);
                    self.settled.insert(child.kind, settled);
                }
                Err(error) => {
                    context.metrics.failed("apply");
                    self.settled.remove(&child.kind);
                    stands_in_the_way(&mut written, id, &error);
                }
            }
        }
        self.remove_unwanted(context, id, &mut written).await;
        written
    }

    /// Whether writing the Deployment would replace the pods of `live`.
    pub(super) fn rolls(&self, live: Option<&DynamicObject>) -> bool {
        let wanted = self.rendered.iter().find(|child| child.kind == ChildKind::Deployment);
        let Some((live, wanted)) = live.zip(wanted) else { return false };
        children::bootstrap(&live.data) != children::bootstrap(&wanted.object)
    }

    /// Whether `live`, which a watch shows, is no older than what was written last.
    pub(super) fn shows_last_write(&self, kind: ChildKind, live: &DynamicObject) -> bool {
        let written = self.settled.get(&kind).map(|settled| &settled.version);
        let shown = live.metadata.resource_version.as_ref();
        written.zip(shown).is_none_or(|(written, shown)| !is_newer(written, shown))
    }

    async fn remove_unwanted(&self, context: &Context, id: &FleetId, written: &mut Written) {
        for kind in &self.unwanted {
            let name = format!("{}{}", hedgerow_crds::child_name(&id.name), kind.suffix());
            let Some(live) = context.stores.child(&id.namespace, *kind, &name) else { continue };
            if !is_owned(&live.metadata, &self.owner) || live.metadata.deletion_timestamp.is_some() {
                continue;
            }
            context.metrics.wrote(kind.plural());
            if let Err(error) = context.hand.remove(&id.namespace, *kind, &live).await {
                tracing::warn!(namespace = id.namespace, fleet = id.name, %error, "cannot delete a child");
                written.again = true;
            }
        }
    }
}

fn note(written: &mut Written, child: &Child, live: Option<&DynamicObject>, settled: &Settled) {
    match child.kind {
        ChildKind::Config => written.config = true,
        ChildKind::FleetFile => written.fleet_file = settled.wrote,
        ChildKind::Deployment => {
            let before = live.and_then(|live| children::bootstrap(&live.data));
            let now = children::bootstrap(&child.object);
            written.rolls = settled.wrote && before.is_some() && before != now;
        }
        _ => {}
    }
}

fn stands_in_the_way(written: &mut Written, id: &FleetId, error: &ApplyError) {
    tracing::warn!(namespace = id.namespace, fleet = id.name, %error, "a child is not as it should be");
    let reason = match error {
        ApplyError::NameConflict { .. } => Reason::NameConflict,
        ApplyError::Refused { .. } => Reason::ChildRejected,
        ApplyError::Call(_) => {
            written.again = true;
            return;
        }
    };
    written.trouble.get_or_insert(Trouble { reason, message: error.to_string() });
}
