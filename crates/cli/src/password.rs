//! Reads a password without echo from `/dev/tty` if available, otherwise from stdin with the prompt on stderr, as
//! psql does.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;

use connect::{Password, Session, Target};
use run::RunError;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::signals::Signals;

const QUESTION: &[u8] = b"Password: ";

/// Connects; asks for a password if the server requires one and none is known.
pub(crate) fn connect_asking(target: &mut Target, signals: &Signals) -> Result<Session, RunError> {
    run::connect(target, Some(ask), signals)
}

/// Reads one line without echo.
pub(crate) fn ask() -> io::Result<Password> {
    let line = match OpenOptions::new().read(true).write(true).open("/dev/tty") {
        Ok(terminal) => {
            let mut writer = File::from(terminal.as_fd().try_clone_to_owned()?);
            read_hidden(&terminal, &mut BufReader::new(&terminal), &mut writer)?
        }
        Err(_) => read_hidden(&io::stdin(), &mut io::stdin().lock(), &mut io::stderr())?,
    };
    Ok(Password::new(line))
}

fn read_hidden(terminal: &impl AsFd, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<String> {
    // Only a terminal has echo.
    let before = tcgetattr(terminal).ok();
    if let Some(before) = &before {
        let mut hidden: Termios = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &hidden)?;
    }
    output.write_all(QUESTION)?;
    output.flush()?;
    let mut line = Vec::new();
    let read = input.read_until(b'\n', &mut line);
    if let Some(before) = &before {
        tcsetattr(terminal, OptionalActions::Flush, before)?;
    }
    // The typed line end was not echoed either.
    output.write_all(b"\n")?;
    output.flush()?;
    read?;
    let text = String::from_utf8_lossy(&line);
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_from_what_is_no_terminal_is_taken_without_its_end() {
        let nothing = File::open("/dev/null").expect("it is always there");
        let mut output = Vec::new();
        let line = read_hidden(&nothing, &mut &b"s e cret\r\nmore"[..], &mut output);
        assert_eq!(line.expect("it can be read"), "s e cret");
        assert_eq!(output, [QUESTION, b"\n"].concat());
    }
}
