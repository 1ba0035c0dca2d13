//! What servers say of themselves: to a superuser everything, to others what they may see.
//! Needs servers of more than one build.

use pgmeter_server::facts;

use crate::harness::{Place, session, small};

#[test]
fn a_server_tells_its_version_its_settings_and_how_it_was_built() {
    for (wanted, least, optimised) in [("18", 180_000, "-Os"), ("9.6", 90_600, "-O2")] {
        let place = Place::new();
        let server = place
            .try_start(wanted, &small(&[("work_mem", "5MB"), ("archive_command", "/bin/true")]))
            .unwrap();
        let facts = facts(&mut session(&server.conninfo())).unwrap();
        assert!(facts.version.starts_with(wanted) && facts.version_num >= least, "{facts:?}");
        assert!(facts.version_text.contains("linux"), "{facts:?}");
        let value = |name| {
            facts.settings.iter().find(|setting| setting.name == name).map(|found| found.value.as_str())
        };
        assert_eq!(value("work_mem"), Some("5MB"));
        assert_eq!(value("shared_buffers"), Some("16MB"));
        assert_eq!(value("archive_command"), None);
        assert_eq!(value("application_name"), None);
        assert_eq!(value("data_checksums"), (wanted == "18").then_some("on"));
        assert!(!facts.fsync && !facts.debug_assertions);
        let main = |name| facts.main_settings.iter().find(|setting| setting.name == name);
        assert_eq!(main("fsync").map(|setting| setting.value.as_str()), Some("off"));
        assert!(main("checkpoint_timeout").is_some() && main("data_directory").is_none());
        assert!(facts.data_directory.as_deref().is_some_and(|path| path.starts_with('/')));
        assert!(facts.extensions.iter().any(|(name, version)| name == "plpgsql" && version == "1.0"));
        assert_eq!(facts.tls, None);
        assert!(facts.build.unwrap().cflags.contains(optimised));
    }
}

#[test]
fn who_is_not_superuser_gets_the_facts_it_may_see() {
    let place = Place::new();
    let server = place.start("18");
    session(&server.conninfo()).execute("create role guest login").unwrap();
    let conninfo = server.conninfo().replace("user=postgres", "user=guest");
    let facts = facts(&mut session(&conninfo)).unwrap();
    assert!(facts.build.is_none() && facts.version_num >= 180_000);
    assert_eq!(facts.data_directory, None);
    assert!(facts.settings.iter().any(|setting| setting.name == "shared_buffers"));
}
