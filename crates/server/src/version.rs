//! PostgreSQL's version numbers: requested versions, versions of programs, and whether they match. Major versions
//! have two parts up to 9.6 and one from 10 on.

use std::fmt;

use crate::ServerError;

/// The oldest supported major version.
pub const OLDEST_MAJOR: Major = Major { first: 9, second: Some(6) };

/// A major version: `9.6`, `10`, … `18`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Major {
    first: u32,
    /// Only before 10, where the second number was part of the major version.
    second: Option<u32>,
}

impl Major {
    fn of(numbers: &[u32]) -> Option<(Major, &[u32])> {
        match numbers {
            [first, second, rest @ ..] if *first < 10 => {
                Some((Major { first: *first, second: Some(*second) }, rest))
            }
            [first, rest @ ..] if *first >= 10 => Some((Major { first: *first, second: None }, rest)),
            _ => None,
        }
    }

    pub(crate) fn is_before(self, major: u32) -> bool {
        self.first < major
    }
}

impl fmt::Display for Major {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.first)?;
        self.second.map_or(Ok(()), |second| write!(formatter, ".{second}"))
    }
}

/// The version of an installation: `18.6`, `9.6.24`, `19devel`, `17beta2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    text: String,
    major: Major,
    minor: Option<u32>,
}

impl Version {
    /// Parses a version number as programs print it; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.trim();
        let numeric = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let numbers = numbers(&text[..numeric])?;
        let (major, rest) = Major::of(&numbers)?;
        let pre_release = numeric < text.len();
        let minor = if pre_release { None } else { rest.first().copied() };
        Some(Version { text: text.to_owned(), major, minor })
    }

    /// Parses the output of `postgres --version`: `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
    pub fn parse_answer(answer: &str) -> Option<Version> {
        Version::parse(answer.lines().next()?.split("(PostgreSQL)").nth(1)?.split_whitespace().next()?)
    }

    /// As the program prints it, without additions of a packager.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its major version.
    pub fn major(&self) -> Major {
        self.major
    }

    /// Its minor version; `None` for a development or beta version.
    pub fn minor(&self) -> Option<u32> {
        self.minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// A request: the newest of a major version, or one exact version.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    major: Major,
    minor: Option<u32>,
}

impl Wanted {
    /// Parses `18`, `9.6`, `16.4` or `9.6.24`.
    ///
    /// # Errors
    /// The text is not a version number, or older than 9.6.
    pub fn parse(text: &str) -> Result<Wanted, ServerError> {
        let wrong = || ServerError::NoSuchVersion { text: text.to_owned() };
        let numbers = numbers(text.trim()).ok_or_else(wrong)?;
        let (major, rest) = Major::of(&numbers).ok_or_else(wrong)?;
        if major < OLDEST_MAJOR || rest.len() > 1 {
            return Err(wrong());
        }
        Ok(Wanted { major, minor: rest.first().copied() })
    }

    /// This version and no other.
    pub(crate) fn exactly(version: &Version) -> Wanted {
        Wanted { major: version.major, minor: version.minor }
    }

    /// The requested major version.
    pub fn major(&self) -> Major {
        self.major
    }

    /// Whether this version matches the request.
    pub fn fits(&self, version: &Version) -> bool {
        self.major == version.major && (self.minor.is_none() || self.minor == version.minor)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.major)?;
        self.minor.map_or(Ok(()), |minor| write!(formatter, ".{minor}"))
    }
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_before_10_has_a_major_of_two_parts() {
        let version = Version::parse("9.6.24").unwrap();
        assert_eq!((version.major().to_string().as_str(), version.minor()), ("9.6", Some(24)));
        let version = Version::parse("18.6").unwrap();
        assert_eq!((version.major().to_string().as_str(), version.minor()), ("18", Some(6)));
    }

    #[test]
    fn the_answer_of_a_program_is_read_with_what_packagers_add() {
        let answer = |text| Version::parse_answer(text).map(|version| version.to_string());
        assert_eq!(
            answer("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"),
            Some("15.18".to_owned())
        );
        assert_eq!(answer("postgres (PostgreSQL) 19devel\n"), Some("19devel".to_owned()));
        assert_eq!(answer("postgres (PostgreSQL)\n"), None);
        assert_eq!(answer(""), None);
        assert_eq!(answer("bash: postgres: no"), None);
    }

    #[test]
    fn a_development_version_has_a_major_and_no_minor() {
        let version = Version::parse("19devel").unwrap();
        assert_eq!((version.major(), version.minor()), (Wanted::parse("19").unwrap().major(), None));
        assert!(Wanted::parse("19").unwrap().fits(&version));
        assert!(!Wanted::parse("19.1").unwrap().fits(&version));
    }

    #[test]
    fn a_major_fits_all_its_minors_and_an_exact_version_only_itself() {
        let fits = |wanted, version| Wanted::parse(wanted).unwrap().fits(&Version::parse(version).unwrap());
        assert!(fits("18", "18.6"));
        assert!(fits("9.6", "9.6.24"));
        assert!(fits("16.4", "16.4"));
        assert!(!fits("16.4", "16.15"));
        assert!(!fits("18", "17.1"));
        assert!(!fits("10", "9.6.24"));
    }

    #[test]
    fn what_is_no_version_is_refused_by_name() {
        for text in
            ["", "x", "9", "9.5", "9.5.25", "8.4", "18.1.2", "18.", "1e3", "-18", "99999999999", "18 "]
        {
            let wanted = Wanted::parse(text);
            if text == "18 " {
                assert!(wanted.is_ok());
            } else {
                assert!(wanted.unwrap_err().to_string().contains(&format!("\"{text}\"")), "{text}");
            }
        }
    }
}
