//! The commit: from here on the client gets one attempt's bytes and nothing else is launched.

use std::{sync::Arc, sync::atomic::Ordering};

use hedgerow_policy::{ledger::Kind, limiter};

use super::{
    Race, Side,
    action::{Action, Winner},
    attempt::Attempt,
    audit,
    failure::Failure,
    leg::Answer,
};

/// The winner.
pub struct Won {
    /// Its attempt, which books itself when the response body ends.
    pub attempt: Attempt,
    /// Its answer.
    pub answer: Answer,
}

impl Race<'_> {
    /// Consumes the race: the other leg is cancelled at once, or read to its end if it is audited.
    pub(super) fn commit(mut self, side: Side) -> Result<Won, Box<Failure>> {
        let (winner, loser) = match side {
            Side::Primary => (self.primary.take(), self.hedge.take()),
            Side::Hedge => (self.hedge.take(), self.primary.take()),
        };
        let Some((attempt, answer)) = winner.and_then(super::leg::Leg::commit) else {
            return Err(Box::new(self.lost()));
        };
        self.retry = None;
        let hedge = attempt.kind == Kind::Hedge;
        self.action.course().winner =
            Some(Winner { attempt: attempt.number, route: attempt.offer.route.config.name.clone(), hedge });
        if hedge {
            attempt.cell.wins.fetch_add(1, Ordering::Relaxed);
        }
        if attempt.first_token.is_some() {
            note_first_token(self.action, &attempt);
            if attempt.kind == Kind::Primary {
                self.permits.lane.sample(sample(&attempt));
            }
        }
        if let Some(loser) = loser {
            audit::release(self.action, loser);
        }
        Ok(Won { attempt, answer })
    }
}

/// What a primary's first token says to the lane's limiter.
pub fn sample(attempt: &Attempt) -> limiter::Sample {
    let Some(at) = attempt.first_token else { return limiter::Sample::None };
    limiter::Sample::FirstToken { elapsed: at.since(attempt.started), expected: attempt.cell.expected() }
}

/// Notes the first token as the user sees it.
pub fn note_first_token(action: &Arc<Action>, attempt: &Attempt) {
    let mut course = action.course();
    if course.first_token.is_none() {
        course.first_token = attempt.first_token.map(|at| at.since(action.request.arrived));
    }
}
