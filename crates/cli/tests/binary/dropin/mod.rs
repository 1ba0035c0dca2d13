//! The binary called as pgbench: its options and their messages, what it prints and writes, its exit statuses; and
//! side by side with the installed pgbench, where there is one.

mod differential;
mod initialization;
mod logs;
mod options;
mod runs;

/// The text with each number replaced by `#`, so that lines can be compared whatever was measured. Numbers are padded to a width
/// with as many spaces as they leave, so several spaces before one are one.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_ascii_digit() {
            shape.push(character);
            continue;
        }
        while shape.ends_with("  ") {
            shape.pop();
        }
        shape.push('#');
        while characters.next_if(|next| next.is_ascii_digit() || *next == '.').is_some() {}
    }
    shape
}
