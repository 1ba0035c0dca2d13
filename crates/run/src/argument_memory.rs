//! Overwrites secrets in the memory of this process's arguments, which `ps` shows to all users. Linux only; elsewhere, and
//! if the kernel refuses, the arguments stay as they are. The program calls it when it has parsed its command line.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// Limit of the arguments' length, in bytes; Linux allows a quarter of the stack, 2 MiB by default.
const LENGTH_MAX: usize = 8 << 20;
/// Replaces each byte of a secret. No quoting depends on it.
const HIDDEN: u8 = b'x';
/// Numbers of the fields `arg_start` and `arg_end` in proc_pid_stat(5), from 1.
const FIELDS: [usize; 2] = [48, 49];

/// Overwrites the secrets. Errors are ignored: a run does not depend on it, and docs/connections.md names the safe ways.
pub fn hide_secrets_of_arguments() {
    let _ = try_to_hide();
}

fn try_to_hide() -> Option<()> {
    let [start, end] = range_in(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    let length = usize::try_from(end.checked_sub(start)?).ok().filter(|length| *length <= LENGTH_MAX)?;
    let mut arguments = vec![0; length];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut arguments, start).ok()?;
    let hidden = hidden(&arguments);
    if hidden == arguments {
        return Some(());
    }
    // The system is asked for write access only if there is a secret.
    OpenOptions::new().write(true).open("/proc/self/mem").ok()?.write_all_at(&hidden, start).ok()
}

/// First and last address of the arguments.
fn range_in(stat: &str) -> Option<[u64; 2]> {
    // The second field is the program's name in parentheses, which may contain blanks and parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse().ok();
    Some([field(FIELDS[0])?, field(FIELDS[1])?])
}

/// The arguments, each with a NUL at its end, with overwritten secrets.
fn hidden(arguments: &[u8]) -> Vec<u8> {
    let mut hidden = arguments.to_vec();
    for argument in hidden.split_mut(|byte| *byte == 0) {
        // Names and separators are ASCII. Each other byte stands for itself, so that places stay the same.
        let text: String =
            argument.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { 'x' }).collect();
        for range in results::secret_ranges(&text) {
            argument[range].fill(HIDDEN);
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[u8], expected: &[u8]) {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(shown(&hidden(arguments)), shown(expected));
    }

    #[test]
    fn passwords_of_uris_and_connection_strings_are_overwritten() {
        check(b"bench\0-d\0postgresql://u:secret@h/d\0", b"bench\0-d\0postgresql://u:xxxxxx@h/d\0");
        check(b"--dsn=host=h password=secret user=u\0", b"--dsn=host=h password=xxxxxx user=u\0");
        check(b"host=h password='a b' user=u\0-c\08\0", b"host=h password='xxx' user=u\0-c\08\0");
        check(b"postgresql://h/d?password=secret&user=u\0", b"postgresql://h/d?password=xxxxxx&user=u\0");
        check(b"password=s\xffcret\0", b"password=xxxxxx\0");
        check(b"bench\0host=h\0user=u\0", b"bench\0host=h\0user=u\0");
    }

    #[test]
    fn the_name_of_the_program_may_look_like_fields() {
        let fields: Vec<String> = (3..53).map(|number| number.to_string()).collect();
        assert_eq!(range_in(&format!("1 (a) 1 2 (b) {}", fields.join(" "))), Some([48, 49]));
        assert_eq!(range_in("1 (a) S 1"), None);
    }
}
