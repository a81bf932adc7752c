//! Where the gateways' records go: JSON lines, whole, never mixed with anything else.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::PathBuf,
    process::Stdio,
    thread,
};

use tokio::process::ChildStdout;

/// Target of the gateways' records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// This process's stdout.
    Stdout,
    /// Nowhere.
    Discard,
    /// Appended to a file, which several processes may do at once.
    File(PathBuf),
}

impl Records {
    /// Stdout of a child.
    pub(super) fn stdio(&self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Stdout => Stdio::piped(),
            Self::Discard => Stdio::null(),
            Self::File(path) => OpenOptions::new().create(true).append(true).open(path)?.into(),
        })
    }
}

/// Copies a child's records to our stdout, on a thread of its own because stdout blocks. Only whole lines are written, under
/// stdout's lock: children that inherited stdout would cut into each other's lines. Once stdout is gone, records are read
/// and dropped, so that a child never blocks.
pub(super) fn pass_on(stdout: ChildStdout) {
    let Ok(pipe) = stdout.into_owned_fd().map(File::from) else { return };
    thread::spawn(move || copy_lines(pipe, &mut |lines| io::stdout().lock().write_all(lines)));
}

fn copy_lines(mut from: impl io::Read, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) {
    let (mut pending, mut chunk, mut open) = (Vec::new(), vec![0; 64 * 1024], true);
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if !open {
            continue;
        }
        pending.extend_from_slice(&chunk[..read]);
        if let Some(end) = pending.iter().rposition(|byte| *byte == b'\n') {
            open = write(&pending[..=end]).is_ok();
            pending.drain(..=end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its parts one read at a time.
    struct Parts(Vec<&'static [u8]>);

    impl io::Read for Parts {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let part = self.0.remove(0);
            buffer[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }

    #[test]
    fn only_whole_lines_are_written_and_half_a_line_at_the_end_never() {
        let mut written: Vec<String> = Vec::new();
        copy_lines(Parts(vec![b"{\"a\":", b"1}\n{\"b\":2}\n{", b"\"c\":3}\n", b"{\"d"]), &mut |lines| {
            written.push(String::from_utf8_lossy(lines).into_owned());
            Ok(())
        });
        assert_eq!(written, ["{\"a\":1}\n{\"b\":2}\n", "{\"c\":3}\n"]);
    }

    #[test]
    fn a_closed_stdout_does_not_stop_the_reading() {
        let mut parts = Parts(vec![b"1\n", b"2\n", b"3\n"]);
        let mut writes = 0;
        copy_lines(&mut parts, &mut |_| {
            writes += 1;
            Err(io::ErrorKind::BrokenPipe.into())
        });
        assert_eq!((writes, parts.0.len()), (1, 0));
    }
}
