//! How far the what-if is: for a bar, and for nothing else.

/// Lines between two reports.
pub const EVERY: u64 = 8_192;
/// Readings of a file.
const READINGS: u32 = 2;

/// A moment of the reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// First reading, for the curves, or second, for the guardrails.
    pub reading: u32,
    /// Lines read in it.
    pub lines: u64,
    /// Bytes taken from the file in it.
    pub read: u64,
    /// Bytes of the file.
    pub size: u64,
}

impl Progress {
    /// Done of everything, 0 to 1. Of a file that grows meanwhile it stays at 1.
    pub fn share(&self) -> f64 {
        let of_reading = if self.size == 0 { 1.0 } else { self.read as f64 / self.size as f64 };
        (f64::from(self.reading.saturating_sub(1)) + of_reading.min(1.0)) / f64::from(READINGS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_are_one_way() {
        let at = |reading, read| Progress { reading, lines: 0, read, size: 200 }.share();
        let shares = [at(1, 0), at(1, 100), at(1, 200), at(2, 0), at(2, 100), at(2, 200), at(2, 900)];
        assert_eq!(shares.map(|share| (share * 100.0) as u32), [0, 25, 50, 50, 75, 100, 100]);
    }
}
