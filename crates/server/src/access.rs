//! Access rules of an embedded server: its `pg_hba.conf` and `pg_ident.conf`, and its superuser's password for TCP.
//! All are in the server's home, where only this process's user can change them. Used by `launch`.

use std::fmt::Write as _;

use tempfile::TempPath;

use crate::account::Account;
use crate::digests::hexadecimal;
use crate::files::create;
use crate::home::{self, Description, Home};
use crate::{ServerError, Version};

/// The superuser and the database that initdb makes.
pub(crate) const SUPERUSER: &str = "postgres";
/// Random bytes of a password; twice as many hexadecimal digits.
const PASSWORD_BYTES: usize = 24;
/// The first version with SCRAM; older ones have only MD5.
const SCRAM_SINCE: u32 = 10;

/// Authentication method for passwords over TCP.
pub(crate) fn password_method(about: &Description) -> &'static str {
    let has_scram =
        Version::parse(&about.version).is_none_or(|version| !version.major().is_before(SCRAM_SINCE));
    if has_scram { "scram-sha-256" } else { "md5" }
}

/// Writes a new random password into the server's password file, and into a file for initdb that is removed with the
/// returned value.
pub(crate) fn make_password(home: &Home, account: &Account) -> Result<TempPath, ServerError> {
    let mut bytes = [0; PASSWORD_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| ServerError::Random(error.to_string()))?;
    let password = hexadecimal(&bytes);
    create(&home.file(home::PASSWORD_FILE), 0o600, &format!("*:*:*:{SUPERUSER}:{password}\n"))?;
    let path = home.directory.join("initdb-password");
    // If removing it fails, the file goes with the server's home. Nobody but the server's user can read it.
    let for_initdb = TempPath::try_from_path(&path).map_err(ServerError::io("write", &path))?;
    let file = create(&path, 0o600, &format!("{password}\n"))?;
    account.give(&file, &path)?;
    Ok(for_initdb)
}

/// Writes the two files unless they are there: the user may have changed them.
pub(crate) fn write_rules(home: &Home, about: &Description, account: &Account) -> Result<(), ServerError> {
    let texts = [
        (home.file(home::HBA_FILE), hba(password_method(about))),
        (home.file(home::IDENT_FILE), ident(&account.administrators())),
    ];
    for (path, text) in texts {
        if !path.exists() {
            create(&path, 0o644, &text)?;
        }
    }
    Ok(())
}

/// Over the socket, whose directory is closed to other users, the operating system says who connects as superuser.
fn hba(method: &str) -> String {
    let mut text =
        "# pgmeter wrote this when the server was first started, and does not write it again.\n".to_owned();
    for (kind, database, user, address, how) in [
        ("local", "all", SUPERUSER, "", "peer map=pgmeter"),
        ("local", "replication", SUPERUSER, "", "peer map=pgmeter"),
        ("local", "all", "all", "", "trust"),
        ("host", "all", "all", "127.0.0.1/32", method),
        ("host", "all", "all", "::1/128", method),
        ("host", "replication", "all", "127.0.0.1/32", method),
        ("host", "replication", "all", "::1/128", method),
    ] {
        let _ = writeln!(text, "{kind:5}  {database:11}  {user:8}  {address:12}  {how}");
    }
    text
}

fn ident(administrators: &[String]) -> String {
    let lines = administrators.iter().map(|name| {
        let quoted = name.replace('"', "\"\"");
        format!("pgmeter  \"{quoted}\"  {SUPERUSER}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_superuser_is_known_by_the_operating_system_or_by_a_password() {
        let text = hba("scram-sha-256");
        let superuser_lines: Vec<_> =
            text.lines().filter(|line| line.contains("all          postgres")).collect();
        assert_eq!(superuser_lines, ["local  all          postgres                peer map=pgmeter"]);
        assert!(
            text.lines().filter(|line| line.starts_with("host")).all(|line| line.ends_with("scram-sha-256"))
        );
        let before = |one: &str, other: &str| text.find(one).unwrap() < text.find(other).unwrap();
        assert!(before("peer", "trust"), "the first line that fits counts");
    }

    #[test]
    fn users_with_strange_names_are_quoted() {
        let names = ["root".to_owned(), r#"D\a "b""#.to_owned()];
        assert_eq!(ident(&names), "pgmeter  \"root\"  postgres\npgmeter  \"D\\a \"\"b\"\"\"  postgres\n");
    }

    #[test]
    fn the_oldest_version_has_md5_and_all_others_scram() {
        let about =
            |version: &str| Description::new(version.to_owned(), PathBuf::new(), String::new(), Vec::new());
        assert_eq!(password_method(&about("9.6.24")), "md5");
        assert_eq!(password_method(&about("10.23")), "scram-sha-256");
        assert_eq!(password_method(&about("19rc1")), "scram-sha-256");
    }
}
