//! Reads the generator `pattern`, a regular expression with generators embedded in it, as a sequence of parts whose texts
//! match it.

use super::draw::Lengths;
use super::node::{Node, Part, PatternSequence};

/// Repetitions of `*` and `+`, as the language documents them.
const MANY: u32 = 8;

/// Largest count within braces.
const REPEAT_MAX: u32 = 10_000;

/// Printable ASCII, which `.` and `[^…]` draw from.
const PRINTABLE: std::ops::RangeInclusive<char> = ' '..='~';

/// A pattern whose repetitions have one length, so that its texts can be enumerated. Groups are not repeated.
pub(crate) fn fixed_lengths(pattern: &str) -> String {
    const LENGTH: &str = "{8}";
    let mut out = String::new();
    let (mut in_class, mut before) = (false, ' ');
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => {
                out.push(character);
                out.extend(rest.next());
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        match character {
            '\\' => {}
            '+' | '*' if !in_class => out.push_str(if before == ')' { "{1}" } else { LENGTH }),
            other => out.push(other),
        }
        before = character;
    }
    out
}

/// Reads a pattern. `generator` compiles the text between `[:` and `:]` that is no POSIX class.
pub(crate) fn parse<E: From<String>>(
    text: &str,
    key: u64,
    generator: &mut dyn FnMut(&str) -> Result<Node, E>,
) -> Result<PatternSequence, E> {
    let mut parser = PatternParser { text: text.chars().collect(), at: 0, key, generator, depth: 0 };
    let sequences = parser.alternatives()?;
    if parser.at < parser.text.len() {
        return Err("the pattern has a ) without its (".to_owned().into());
    }
    Ok(one(key, sequences))
}

fn one(key: u64, mut sequences: Vec<PatternSequence>) -> PatternSequence {
    match sequences.len() {
        1 => sequences.remove(0),
        _ => PatternSequence::new(key, vec![Part::Group(sequences)]),
    }
}

struct PatternParser<'a, E> {
    text: Vec<char>,
    at: usize,
    key: u64,
    generator: &'a mut dyn FnMut(&str) -> Result<Node, E>,
    depth: u32,
}

/// Nested groups: the parser and the writer call themselves for each.
const DEPTH_MAX: u32 = 50;

impl<E: From<String>> PatternParser<'_, E> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn alternatives(&mut self) -> Result<Vec<PatternSequence>, E> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("the pattern has more than {DEPTH_MAX} nested groups").into());
        }
        let mut sequences = vec![self.sequence()?];
        while self.peek() == Some('|') {
            self.at += 1;
            sequences.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(sequences)
    }

    fn sequence(&mut self) -> Result<PatternSequence, E> {
        let mut parts: Vec<Part> = Vec::new();
        while let Some(character) = self.peek() {
            if matches!(character, '|' | ')') {
                break;
            }
            let part = self.part()?;
            let part = self.repeated(part)?;
            match (parts.last_mut(), part) {
                (Some(Part::Literal(text)), Part::Literal(more)) => {
                    text.extend_from_slice(&more);
                }
                (_, part) => parts.push(part),
            }
        }
        Ok(PatternSequence::new(self.key, parts))
    }

    fn part(&mut self) -> Result<Part, E> {
        let Some(character) = self.peek() else { return Ok(Part::Literal(Vec::new())) };
        self.at += 1;
        match character {
            '(' => {
                let sequences = self.alternatives()?;
                if self.peek() != Some(')') {
                    return Err("the pattern has a ( without its )".to_owned().into());
                }
                self.at += 1;
                Ok(Part::Group(sequences))
            }
            '[' if self.peek() == Some(':') => self.embedded(),
            '[' => Ok(Part::Class(self.class()?)),
            '.' => Ok(Part::Class(PRINTABLE.collect())),
            '\\' => match self.peek().and_then(escaped_class) {
                Some(set) => {
                    self.at += 1;
                    Ok(Part::Class(set))
                }
                None => Ok(Part::Literal(self.escape().to_string().into_bytes())),
            },
            '{' | '?' | '*' | '+' => Err(format!(
                "the pattern repeats nothing by {character}; write \\{character} for the character"
            )
            .into()),
            other => Ok(Part::Literal(other.to_string().into_bytes())),
        }
    }

    /// The character after a backslash.
    fn escape(&mut self) -> char {
        let (character, used) = unescape(&self.text[self.at..]);
        self.at += used;
        character
    }

    fn repeated(&mut self, part: Part) -> Result<Part, E> {
        let lengths = match self.peek() {
            Some('?') => (0, 1),
            Some('*') => (0, MANY),
            Some('+') => (1, MANY),
            Some('{') => {
                let end = self.text[self.at..].iter().position(|c| *c == '}').map(|end| self.at + end);
                let inside: String =
                    end.map(|end| self.text[self.at + 1..end].iter().collect()).unwrap_or_default();
                let (min, max) = inside.split_once(',').unwrap_or((&inside, &inside));
                let bounds = min.trim().parse::<u32>().ok().zip(max.trim().parse::<u32>().ok());
                let bounds = bounds.filter(|(min, max)| min <= max && *max <= REPEAT_MAX);
                let Some(bounds) = bounds else {
                    return Err(format!(
                        "the pattern needs {{n}} or {{n,m}} with n ≤ m ≤ {REPEAT_MAX}, not {{{inside}}}"
                    )
                    .into());
                };
                self.at = end.unwrap_or(self.at);
                bounds
            }
            _ => return Ok(part),
        };
        self.at += 1;
        Ok(Part::Repeat(Box::new(part), Lengths { min: lengths.0, max: lengths.1 }))
    }

    /// `[:alpha:]` or `[:generator parameters:]`; the parser is behind the bracket.
    fn embedded(&mut self) -> Result<Part, E> {
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.windows(2).position(|pair| pair == [':', ']']) else {
            return Err("the pattern has a [: without its :]".to_owned().into());
        };
        let inside: String = rest[..end].iter().collect();
        self.at += end + 3;
        match posix_class(inside.trim()) {
            Some(set) => Ok(Part::Class(set)),
            None => Ok(Part::Generator(Box::new((self.generator)(&inside)?))),
        }
    }

    /// After `[`, to the closing bracket.
    fn class(&mut self) -> Result<Vec<char>, E> {
        let negated = self.peek() == Some('^');
        self.at += usize::from(negated);
        let rest = &self.text[self.at..];
        let mut at = 0;
        // A bracket in the first place is a member.
        while let Some(character) = rest.get(at) {
            match character {
                '\\' => at += 1,
                '[' if rest.get(at + 1) == Some(&':') => {
                    at += 3 + rest[at + 2..].windows(2).position(|pair| pair == [':', ']']).unwrap_or(0);
                }
                ']' if at > 0 => break,
                _ => {}
            }
            at += 1;
        }
        if at >= rest.len() {
            return Err("the pattern has a [ without its ]".to_owned().into());
        }
        let inside: String = rest[..at].iter().collect();
        self.at += at + 1;
        let mut set = character_set(&inside)?;
        if negated {
            set = PRINTABLE.filter(|character| !set.contains(character)).collect();
        }
        if set.is_empty() {
            return Err(format!("the pattern's set [{inside}] has no characters").into());
        }
        Ok(set)
    }
}

/// Members of a set: ranges, classes, escapes; a leading minus is a member. Without duplicates, in their order.
pub(crate) fn character_set(text: &str) -> Result<Vec<char>, String> {
    let characters: Vec<char> = text.chars().collect();
    let mut set: Vec<char> = Vec::new();
    let mut at = 0;
    let mut range_start = None;
    while let Some(&character) = characters.get(at) {
        at += 1;
        let member = match character {
            '-' if range_start.is_some() && at < characters.len() => {
                let mut last = characters[at];
                at += 1;
                if last == '\\' {
                    let (escaped, used) = unescape(&characters[at..]);
                    last = escaped;
                    at += used;
                }
                let first = range_start.take().unwrap_or(last);
                if first > last || u32::from(last) - u32::from(first) > 70_000 {
                    return Err(format!("the range {first}-{last} is empty or too large"));
                }
                set.extend(first..=last);
                continue;
            }
            '[' if characters.get(at) == Some(&':') => {
                let end = characters[at..]
                    .windows(2)
                    .skip(1)
                    .position(|pair| pair == [':', ']'])
                    .map(|end| end + 1);
                let name: String =
                    end.map(|end| characters[at + 1..at + end].iter().collect()).unwrap_or_default();
                let Some(class) = posix_class(&name) else { return Err(format!("unknown class [:{name}:]")) };
                set.extend(class);
                at += end.unwrap_or(0) + 2;
                range_start = None;
                continue;
            }
            '\\' => match characters.get(at).copied().and_then(escaped_class) {
                Some(class) => {
                    set.extend(class);
                    at += 1;
                    range_start = None;
                    continue;
                }
                None => {
                    let (escaped, used) = unescape(&characters[at..]);
                    at += used;
                    escaped
                }
            },
            other => other,
        };
        set.push(member);
        range_start = Some(member);
    }
    let mut seen = std::collections::HashSet::new();
    set.retain(|character| seen.insert(*character));
    Ok(set)
}

/// The class of `\d`, `\s`, `\w`, `\h` and `\H`.
fn escaped_class(letter: char) -> Option<Vec<char>> {
    let set = match letter {
        'd' => "0123456789",
        's' => " \t\n\x0b\x0c\r",
        'h' => "0123456789abcdef",
        'H' => "0123456789ABCDEF",
        'w' => return Some(('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['_']).collect()),
        _ => return None,
    };
    Some(set.chars().collect())
}

fn posix_class(name: &str) -> Option<Vec<char>> {
    let test: fn(&char) -> bool = match name {
        "alpha" => char::is_ascii_alphabetic,
        "digit" => char::is_ascii_digit,
        "alnum" => char::is_ascii_alphanumeric,
        "upper" => char::is_ascii_uppercase,
        "lower" => char::is_ascii_lowercase,
        "punct" => char::is_ascii_punctuation,
        "xdigit" => char::is_ascii_hexdigit,
        "space" => char::is_ascii_whitespace,
        "blank" => |c| matches!(c, ' ' | '\t'),
        "graph" => char::is_ascii_graphic,
        "print" => |c| PRINTABLE.contains(c),
        "word" => |c| c.is_ascii_alphanumeric() || *c == '_',
        _ => return None,
    };
    Some(('\0'..='\x7f').filter(test).collect())
}

/// The character of an escape, from behind its backslash on, and how many characters it takes.
pub(crate) fn unescape(rest: &[char]) -> (char, usize) {
    let number = |skip: usize, count: usize, radix: u32| {
        let digits: String = rest.iter().skip(skip).take(count).take_while(|c| c.is_digit(radix)).collect();
        let character = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        character.filter(|character| *character != '\0').map(|character| (character, skip + digits.len()))
    };
    let simple = match rest.first() {
        None => return ('\\', 0),
        Some('x') => number(1, 2, 16),
        Some('u') => number(1, 4, 16),
        Some('U') => number(1, 8, 16),
        Some('0'..='7') => number(0, 3, 8),
        Some('a') => Some(('\x07', 1)),
        Some('b') => Some(('\x08', 1)),
        Some('f') => Some(('\x0c', 1)),
        Some('n') => Some(('\n', 1)),
        Some('r') => Some(('\r', 1)),
        Some('t') => Some(('\t', 1)),
        Some('v') => Some(('\x0b', 1)),
        Some(_) => None,
    };
    simple.unwrap_or((rest[0], 1))
}

/// A text with its escapes replaced.
pub(crate) fn unescaped(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        at += 1;
        if character == '\\' {
            let (escaped, used) = unescape(&characters[at..]);
            out.push(escaped);
            at += used;
        } else {
            out.push(character);
        }
    }
    out
}
