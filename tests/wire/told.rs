//! What a gateway in this process tells the world: log lines, records, `/metrics` and `/state`.
//!
//! Why: no planted word (`hedgerow_tests::canary`) may be in any of it. Inputs: the process's log lines at a level that
//! nobody reads on an ordinary day, and the records of one gateway. Outputs: their text. The log is one for the whole
//! process: cases run side by side, so a finding names the line and not the case.

use std::{
    io,
    sync::{Arc, Mutex, Once},
};

use tracing_subscriber::EnvFilter;

/// Lines that nobody has looked at yet.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// As in `tests/chaos`; h2 writes whole frames when it traces.
const FILTER: &str = "debug,h2=info,hedgerow_gateway=trace";

/// Writes to [`LOG`].
struct Line;

impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps every log line of this process from now on.
pub fn listen() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(FILTER)).json();
        lines.with_writer(|| Line).try_init().expect("the only subscriber of this process");
        tracing::info!("listening");
        assert!(!LOG.lock().unwrap().is_empty(), "no line was kept, so none would be found");
    });
}

/// The log lines since the last call.
pub fn log() -> String {
    String::from_utf8_lossy(&std::mem::take(&mut *LOG.lock().unwrap())).into_owned()
}

/// Takes the records of one gateway.
#[derive(Clone, Default)]
pub struct Records(Arc<Mutex<Vec<u8>>>);

impl Records {
    /// All of them so far, one a line.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
