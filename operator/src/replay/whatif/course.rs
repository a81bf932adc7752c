//! A delay over the time of the records: duplicates, and when the guardrail has suspended it.
//!
//! Inputs: what came of every row, in the order of the file. Outputs: points and spans in seconds since the first row. The
//! steps are as many for a day as for a year, so memory does not grow with rows; two logs of the same time add up.

use hedgerow_policy::time::Moment;

/// Steps of a [`Course`].
const STEPS: usize = 60;

/// What a delay does over the time of the records, in equal steps. Memory does not grow with rows.
#[derive(Clone, Debug, Default)]
pub struct Course {
    from: Moment,
    /// Length of a step in seconds.
    width: f64,
    /// Originals, hedges, and originals while hedging was suspended.
    steps: Vec<(u64, u64, u64)>,
}

impl Course {
    /// Nothing counted yet; `span` = first and last time of the records.
    pub fn over(span: Option<(Moment, Moment)>) -> Self {
        let Some((from, to)) = span else { return Self::default() };
        // The last row belongs to the last step.
        let width = (((to - from).as_secs_f64() + 1.0) / STEPS as f64).max(1.0);
        Self { from, width, steps: vec![(0, 0, 0); STEPS] }
    }

    /// Adds what came of one row.
    pub fn count(&mut self, at: Moment, originals: u64, hedges: u64, suspended: bool) {
        let place = (at.since(self.from).as_secs_f64() / self.width) as usize;
        if let Some(step) = self.steps.get_mut(place) {
            step.0 += originals;
            step.1 += hedges;
            step.2 += if suspended { originals } else { 0 };
        }
    }

    /// Length in seconds.
    pub fn end(&self) -> f64 {
        self.width * self.steps.len() as f64
    }

    /// Hedges per 100 originals by seconds since the first row; nothing where nothing came.
    pub fn duplicates(&self) -> Vec<(f64, Option<f64>)> {
        let point = |(place, (originals, hedges, _)): (usize, &(u64, u64, u64))| {
            let share = (*originals > 0).then(|| 100.0 * *hedges as f64 / *originals as f64);
            ((place as f64 + 0.5) * self.width, share)
        };
        self.steps.iter().enumerate().map(point).collect()
    }

    /// Steps of which at least half was suspended, as seconds since the first row.
    pub fn suspended(&self) -> Vec<std::ops::Range<f64>> {
        let steps = self.steps.iter().enumerate();
        let off =
            steps.filter(|(_, (originals, _, suspended))| *originals > 0 && suspended * 2 >= *originals);
        off.map(|(place, _)| place as f64 * self.width..(place + 1) as f64 * self.width).collect()
    }
}
