//! Tests only: actions of root below directories of the server's user, while a process of that user replaces files by
//! links. They require root; otherwise they report that nothing was tested.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use crate::account::Account;
    use crate::home::{self, Description, Home, LockedHome};
    use crate::{Locations, ServerError, copies, tls};

    /// Number of tries. With path-based access, the attack on the certificate succeeded within 100, the one on the
    /// copy immediately.
    const CERTIFICATES: u32 = 500;
    const COPIES: u32 = 25;
    const SECRET: &str = "only root may read this";
    /// Enough files for the attacker to act while a directory is copied.
    const FILES: u32 = 100;

    /// A home created by root, with a data directory of an unprivileged user, next to root's own files.
    struct Fixture {
        base: tempfile::TempDir,
        claim: LockedHome,
        account: Account,
        uid: u32,
    }

    impl Fixture {
        /// `None` where this process is not root.
        #[allow(clippy::print_stderr)]
        fn new() -> Option<Fixture> {
            let account = Account::choose(None).expect("there is an unprivileged user");
            let Some(uid) = account.other_uid() else {
                eprintln!("NOT TESTED: attacks on root need root, and this process is not root");
                return None;
            };
            let base = tempfile::tempdir().unwrap();
            fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
            let locations = Locations {
                cache_dir: base.path().join("cache"),
                state_dir: base.path().join("state"),
                search_path: Vec::new(),
            };
            let claim = LockedHome::new(Some("one"), &locations).unwrap();
            fs::create_dir(claim.home.data()).unwrap();
            chown(claim.home.data(), Some(uid), Some(uid)).unwrap();
            Some(Fixture { base, claim, account, uid })
        }

        fn home(&self) -> &Home {
            &self.claim.home
        }

        /// Root's, closed to others.
        fn secret(&self, name: &str) -> PathBuf {
            let path = self.base.path().join(name);
            fs::write(&path, SECRET).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path
        }

        /// Runs a shell script as the server's user in its data directory, repeatedly.
        fn attack(&self, script: &str, target: &Path) -> Attacker {
            // The shell ends between two commands, so that none of them writes while the directory is removed.
            let forever = format!("trap exit TERM; while :; do {script}; done");
            let mut command = Command::new("/bin/sh");
            command
                .args(["-c", &forever, "sh"])
                .arg(target)
                .current_dir(self.home().data())
                .uid(self.uid)
                .gid(self.uid);
            Attacker(
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
            )
        }

        fn description(&self) -> Description {
            Description::new("18.6".to_owned(), PathBuf::from("/bin"), self.account.name.clone(), Vec::new())
        }
    }

    struct Attacker(Child);

    impl Drop for Attacker {
        fn drop(&mut self) {
            let process = Pid::from_child(&self.0);
            kill_process(process, Signal::TERM).unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_certificate_is_never_made_through_a_link_of_the_servers_user() {
        let Some(fixture) = Fixture::new() else { return };
        let victim = fixture.secret("shadow");
        let script = r#"for f in server.key server.crt ../server.key ../server.crt; do ln -sf "$1" "$f"; rm -f "$f"; done"#;
        let _attacker = fixture.attack(script, &victim);
        for attempt in 0..CERTIFICATES {
            tls::make(fixture.home(), &fixture.account).unwrap();
            let about = fs::metadata(&victim).unwrap();
            assert_eq!((about.uid(), about.mode() & 0o777), (0, 0o600), "attempt {attempt}");
            let key = fs::metadata(fixture.home().file(home::KEY)).unwrap();
            assert_eq!((key.uid(), key.mode() & 0o777), (fixture.uid, 0o600));
            fs::remove_file(fixture.home().file(home::KEY)).unwrap();
            fs::remove_file(fixture.home().file(home::CERTIFICATE)).unwrap();
        }
    }

    #[test]
    fn a_copy_never_follows_a_link_of_the_servers_user() {
        let Some(fixture) = Fixture::new() else { return };
        let secrets = fixture.base.path().join("secrets");
        let bait = fixture.home().data().join("bait");
        for directory in [&secrets, &bait] {
            fs::create_dir(directory).unwrap();
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
        }
        for number in 0..FILES {
            fs::write(secrets.join(number.to_string()), SECRET).unwrap();
            fs::write(bait.join(number.to_string()), "nothing").unwrap();
            chown(bait.join(number.to_string()), Some(fixture.uid), Some(fixture.uid)).unwrap();
        }
        chown(&bait, Some(fixture.uid), Some(fixture.uid)).unwrap();
        let script = r#"mv bait real; ln -s "$1" bait; rm bait; mv real bait"#;
        let _attacker = fixture.attack(script, &secrets);
        let mut copied = 0;
        for _ in 0..COPIES {
            // It may fail, because files come and go.
            let kept = copies::keep(fixture.home(), &fixture.description(), &fixture.account, 0);
            copied += u32::from(kept.is_ok());
            let copy = fixture.home().directory.join("copy-0/data");
            for directory in ["bait", "real"].map(|name| copy.join(name)) {
                // A link may be copied as a link.
                if !fs::symlink_metadata(&directory).is_ok_and(|about| about.is_dir()) {
                    continue;
                }
                for number in 0..FILES {
                    let text = fs::read_to_string(directory.join(number.to_string())).unwrap_or_default();
                    assert_ne!(text, SECRET, "after {copied} copies, a file of root's is in a copy");
                }
            }
        }
    }

    #[test]
    fn files_of_others_in_a_data_directory_are_not_copied() {
        let Some(fixture) = Fixture::new() else { return };
        let secret = fixture.secret("shadow");
        fs::hard_link(&secret, fixture.home().data().join("link")).unwrap();
        let refused = copies::keep(fixture.home(), &fixture.description(), &fixture.account, 0)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("link: it belongs to user 0"), "{refused}");
    }

    #[test]
    fn only_a_new_directory_is_given_away() {
        let Some(fixture) = Fixture::new() else { return };
        let victim = fixture.base.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o700)).unwrap();
        let link = fixture.base.path().join("link");
        symlink(&victim, &link).unwrap();
        let refused = |path: &Path| {
            let error: ServerError = fixture.account.give_directory(path).unwrap_err();
            assert!(error.to_string().contains("give the server's user"), "{error}");
            assert_eq!(fs::metadata(&victim).unwrap().uid(), 0);
        };
        refused(&link);
        fs::write(victim.join("file"), "").unwrap();
        refused(&victim);
        fs::remove_file(victim.join("file")).unwrap();
        fixture.account.give_directory(&victim).unwrap();
        assert_eq!(fs::metadata(&victim).unwrap().uid(), fixture.uid);
    }
}
