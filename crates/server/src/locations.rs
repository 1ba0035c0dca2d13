//! Directories: downloaded programs in the cache directory, servers in the state directory, installed programs in the
//! search path. Callers pass the environment; only [`Environment::of_process`] reads it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::{ServerError, trust};

/// The parts of the process's environment that determine the directories.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Environment variables by name.
    pub variables: HashMap<String, OsString>,
    /// Whether the effective user is root.
    pub root: bool,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Environment {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Environment { variables, root: rustix::process::geteuid().is_root() }
    }

    /// The directory named by a variable; empty and relative ones are ignored, as the XDG specification requires.
    pub fn directory(&self, variable: &str) -> Option<PathBuf> {
        self.variables.get(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// The directories.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Directory of downloaded programs, shared by all processes of the user.
    pub cache_dir: PathBuf,
    /// Directory of servers: data, sockets and descriptions.
    pub state_dir: PathBuf,
    /// Search path of programs: the entries of `PATH`.
    pub search_path: Vec<PathBuf>,
}

impl Locations {
    /// As root `/var/cache/pgmeter` and `/var/lib/pgmeter`, otherwise the XDG directories within the home directory;
    /// `PGMETER_CACHE_DIR` and `PGMETER_STATE_DIR` override both.
    ///
    /// # Errors
    /// There is neither a home directory nor an override; an override is not an absolute path; as root, another user
    /// could modify a directory.
    pub fn from_environment(environment: &Environment) -> Result<Locations, ServerError> {
        let cache =
            Place { ours: "PGMETER_CACHE_DIR", of_root: "/var/cache", xdg: "XDG_CACHE_HOME", home: ".cache" };
        let state = Place {
            ours: "PGMETER_STATE_DIR",
            of_root: "/var/lib",
            xdg: "XDG_STATE_HOME",
            home: ".local/state",
        };
        let (cache_dir, state_dir) = (cache.directory(environment)?, state.directory(environment)?);
        if environment.root {
            trust::check_directory(&cache_dir, cache.ours)?;
            trust::check_directory(&state_dir, state.ours)?;
        }
        let search_path = environment.variables.get("PATH").map(std::env::split_paths);
        Ok(Locations {
            cache_dir,
            state_dir,
            search_path: search_path
                .into_iter()
                .flatten()
                .filter(|directory| directory.is_absolute())
                .collect(),
        })
    }
}

/// Candidates for one of the two directories, in order of preference.
struct Place {
    ours: &'static str,
    of_root: &'static str,
    xdg: &'static str,
    home: &'static str,
}

impl Place {
    fn directory(&self, environment: &Environment) -> Result<PathBuf, ServerError> {
        if let Some(value) = environment.variables.get(self.ours).filter(|value| !value.is_empty()) {
            let path = PathBuf::from(value);
            return if path.is_absolute() {
                Ok(path)
            } else {
                Err(ServerError::RelativeDirectory { variable: self.ours, path })
            };
        }
        if environment.root {
            return Ok(PathBuf::from(self.of_root).join("pgmeter"));
        }
        environment
            .directory(self.xdg)
            .or_else(|| environment.directory("HOME").map(|home| home.join(self.home)))
            .map(|base| base.join("pgmeter"))
            .ok_or(ServerError::NoHome { variable: self.ours })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations(root: bool, variables: &[(&str, &str)]) -> Result<Locations, ServerError> {
        let variables = variables.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        Locations::from_environment(&Environment { variables, root })
    }

    fn directories(root: bool, variables: &[(&str, &str)]) -> (String, String) {
        let found = locations(root, variables).unwrap();
        (found.cache_dir.display().to_string(), found.state_dir.display().to_string())
    }

    #[test]
    fn root_keeps_things_below_var() {
        let expected = ("/var/cache/pgmeter".to_owned(), "/var/lib/pgmeter".to_owned());
        assert_eq!(directories(true, &[("HOME", "/root")]), expected);
        assert_eq!(directories(true, &[]), expected);
    }

    #[test]
    fn a_user_keeps_things_in_the_xdg_directories_or_below_home() {
        assert_eq!(
            directories(false, &[("HOME", "/home/u")]),
            ("/home/u/.cache/pgmeter".to_owned(), "/home/u/.local/state/pgmeter".to_owned())
        );
        assert_eq!(
            directories(
                false,
                &[("HOME", "/home/u"), ("XDG_CACHE_HOME", "/c"), ("XDG_STATE_HOME", "relative")]
            ),
            ("/c/pgmeter".to_owned(), "/home/u/.local/state/pgmeter".to_owned())
        );
    }

    #[test]
    fn our_variables_come_before_everything_else() {
        let ours = [("PGMETER_CACHE_DIR", "/c"), ("PGMETER_STATE_DIR", "/s"), ("HOME", "/home/u")];
        assert_eq!(directories(true, &ours), ("/c".to_owned(), "/s".to_owned()));
        assert_eq!(directories(false, &ours), ("/c".to_owned(), "/s".to_owned()));
    }

    /// The check applies to root only, which owns its temporary files.
    #[test]
    #[allow(clippy::print_stderr)]
    fn root_keeps_nothing_where_another_user_could_change_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("NOT TESTED: what others could change is a question of root's");
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let theirs = base.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(4711), None).unwrap();
        let deep = theirs.join("not/there/yet").display().to_string();
        for variable in ["PGMETER_CACHE_DIR", "PGMETER_STATE_DIR"] {
            let error = locations(true, &[(variable, &deep)]).unwrap_err().to_string();
            let place = theirs.display().to_string();
            assert!(error.contains(&place) && error.contains(variable) && error.contains("4711"), "{error}");
        }
        let ours = base.path().join("ours").display().to_string();
        assert_eq!(directories(true, &[("PGMETER_STATE_DIR", &ours)]).1, ours);
    }

    #[test]
    fn without_a_home_directory_the_variable_to_set_is_named() {
        let error = locations(false, &[]).unwrap_err().to_string();
        assert!(error.contains("PGMETER_CACHE_DIR"), "{error}");
        let error =
            locations(false, &[("HOME", "/h"), ("PGMETER_STATE_DIR", "here")]).unwrap_err().to_string();
        assert!(error.contains("PGMETER_STATE_DIR") && error.contains("here"), "{error}");
    }

    #[test]
    fn programs_are_searched_in_the_absolute_directories_of_path() {
        let found = locations(true, &[("PATH", "/usr/bin::bin:/bin")]).unwrap();
        assert_eq!(found.search_path, [PathBuf::from("/usr/bin"), PathBuf::from("/bin")]);
    }
}
