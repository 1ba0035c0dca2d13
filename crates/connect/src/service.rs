//! The connection service file `pg_service.conf`: sections of settings, each named after a service. Read by `resolve`
//! if a service is given.
//!
//! Manual: libpq, "The Connection Service File".

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::conninfo;
use crate::environment::Environment;
use crate::error::ConnectError;
use crate::keywords::Keyword;
use crate::regular_file;

/// Maximum size; no service file written by hand is larger.
const LENGTH_MAX: u64 = 16 * 1024 * 1024;
/// Directories of the system-wide file without PGSYSCONFDIR: those of Debian, Red Hat and a source build.
const SYSTEM_DIRECTORIES: [&str; 3] =
    ["/etc/postgresql-common", "/etc/sysconfig/pgsql", "/usr/local/pgsql/etc"];

/// A setting of a service with its line number.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) keyword: &'static Keyword,
    pub(crate) value: String,
    pub(crate) line: usize,
}

/// The settings of a service, and the path of its file.
pub(crate) type Service = (PathBuf, Vec<Setting>);

/// Searches for a service in the given file, else in the user's file, else in the system-wide file.
pub(crate) fn find(
    name: &str,
    file: Option<&str>,
    environment: &Environment,
) -> Result<Service, ConnectError> {
    let mut looked_in = Vec::new();
    let users = || environment.home.as_ref().map(|home| home.join(".pg_service.conf"));
    let first = match file {
        Some(file) => Some((PathBuf::from(file), true)),
        None => users().map(|path| (path, false)),
    };
    let systems = match environment.get_given("PGSYSCONFDIR")? {
        Some(directory) => vec![directory],
        None => SYSTEM_DIRECTORIES.to_vec(),
    };
    let systems = systems.iter().map(|directory| (Path::new(directory).join("pg_service.conf"), false));
    for (path, is_named) in first.into_iter().chain(systems) {
        let Some(content) = read(&path, is_named)? else { continue };
        if let Some(settings) = section(&content, name, &path)? {
            return Ok((path, settings));
        }
        looked_in.push(path.display().to_string());
    }
    let looked = match looked_in.as_slice() {
        [] => "there is no service file; give one with PGSERVICEFILE".to_owned(),
        files => format!("it is not in {}", files.join(" nor in ")),
    };
    Err(ConnectError::Settings(format!("the service \"{name}\" is not defined: {looked}")))
}

/// The contents of a file; `None` if it is optional and missing.
fn read(path: &Path, is_named: bool) -> Result<Option<String>, ConnectError> {
    let refuse =
        |why: &str| Err(ConnectError::Settings(format!("the service file {} {why}", path.display())));
    match regular_file::read(path, LENGTH_MAX) {
        Ok(content) => match String::from_utf8(content) {
            Ok(content) => Ok(Some(content)),
            Err(_) => refuse("is not valid UTF-8"),
        },
        Err(error) if !is_named && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => refuse(&format!("cannot be read ({error})")),
    }
}

/// The settings of the first section with this name, the first value of each keyword; `None` without such a section.
fn section(content: &str, name: &str, path: &Path) -> Result<Option<Vec<Setting>>, ConnectError> {
    let mut found: Option<Vec<Setting>> = None;
    for (index, line) in content.lines().enumerate() {
        // isspace() of C, and no other blanks.
        let line = line.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let refuse = |why: &str| {
            Err(ConnectError::Settings(format!(
                "the service file {}, line {}: {why}",
                path.display(),
                index + 1
            )))
        };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            let is_it = head.strip_prefix(name).is_some_and(|rest| rest.starts_with(']'));
            found = is_it.then(Vec::new);
            continue;
        }
        let Some(settings) = &mut found else { continue };
        if line.starts_with("ldap") {
            return refuse("LDAP lookup of services is not supported");
        }
        let Some((keyword, value)) = line.split_once('=') else {
            return refuse("the line has no \"=\": expected keyword=value");
        };
        if matches!(keyword, "service" | "servicefile") {
            return refuse(&format!("a service cannot refer to another one with \"{keyword}\""));
        }
        let keyword = match conninfo::find(keyword, &[]) {
            Ok(keyword) => keyword,
            Err(_) => return refuse(&unknown(keyword)),
        };
        if !settings.iter().any(|setting: &Setting| setting.keyword.name == keyword.name) {
            settings.push(Setting { keyword, value: value.to_owned(), line: index + 1 });
        }
    }
    Ok(found)
}

fn unknown(keyword: &str) -> String {
    match crate::keywords::nearest(keyword) {
        Some(meant) => format!("unknown keyword \"{keyword}\": did you mean \"{meant}\"?"),
        None => format!("unknown keyword \"{keyword}\""),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CONTENT: &str = "\
# a comment
host=nowhere
[first]
host=one
port=1
host=two

[second]
  dbname = spaced
[third]
port
[fourth]
service=first
[fifth]
hots=a
[sixth]
ldap://server/base
[first]
host=three
";

    fn found(name: &str) -> Result<Option<String>, String> {
        let settings = section(CONTENT, name, Path::new("f")).map_err(|error| error.to_string())?;
        Ok(settings.map(|settings| {
            let shown = settings
                .iter()
                .map(|Setting { keyword, value, line }| format!("{line} {}={value}", keyword.name));
            shown.collect::<Vec<_>>().join(", ")
        }))
    }

    #[test]
    fn the_first_section_of_the_name_counts_and_in_it_the_first_of_each_keyword() {
        assert_eq!(found("first"), Ok(Some("4 host=one, 5 port=1".to_owned())));
        assert_eq!(found("fir"), Ok(None));
        assert_eq!(found(""), Ok(None));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        for (name, expected) in [
            ("second", "the service file f, line 9: unknown keyword \"dbname \": did you mean \"dbname\"?"),
            ("third", "the service file f, line 11: the line has no \"=\": expected keyword=value"),
            ("fourth", "the service file f, line 13: a service cannot refer to another one with \"service\""),
            ("fifth", "the service file f, line 15: unknown keyword \"hots\": did you mean \"host\"?"),
            ("sixth", "the service file f, line 17: LDAP lookup of services is not supported"),
        ] {
            assert_eq!(found(name).unwrap_err(), expected);
        }
    }

    #[test]
    fn the_users_file_comes_before_the_systems_and_a_named_one_must_exist() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        fs::create_dir(&home).unwrap();
        let mut environment = Environment { home: Some(home.clone()), ..Environment::default() };
        environment.variables.insert("PGSYSCONFDIR".to_owned(), directory.path().into());
        let value = |name: &str, file: Option<&str>, environment: &Environment| {
            find(name, file, environment)
                .map(|(_, settings)| settings[0].value.clone())
                .map_err(|error| error.to_string())
        };
        assert!(value("a", None, &environment).unwrap_err().contains("no service file"));
        fs::write(directory.path().join("pg_service.conf"), "[a]\nhost=system\n[b]\nhost=system\n").unwrap();
        fs::write(home.join(".pg_service.conf"), "[a]\nhost=user\n").unwrap();
        assert_eq!(value("a", None, &environment).as_deref(), Ok("user"));
        assert_eq!(value("b", None, &environment).as_deref(), Ok("system"));
        assert!(value("c", None, &environment).unwrap_err().contains("it is not in "));
        let named = directory.path().join("named");
        assert!(value("a", named.to_str(), &environment).unwrap_err().contains("cannot be read"));
        fs::write(&named, "[c]\nhost=named\n").unwrap();
        assert_eq!(value("c", named.to_str(), &environment).as_deref(), Ok("named"));
    }
}
