//! Certificates shown to libpq and to pgmeter by `certificates`, each with the trusted certificates and the host name.
//! Each case is a line; its name is a row of the table in the manual.

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints, SanType, date_time_ymd,
};

use crate::forge::{
    AS_USUAL, Chain, Change, Node, authority, extension, issue, list, self_signed, version_1,
};

/// All cases.
pub const GROUPS: [fn() -> Vec<Case>; 9] =
    [chains, authorities, usages, extensions, constraints, of_version_1, pinned, hosts, revocation];

/// One case, a row of the table.
pub struct Case {
    pub name: &'static str,
    pub shown: Vec<Vec<u8>>,
    pub key: Vec<u8>,
    pub trusted: Vec<Vec<u8>>,
    pub lists: Vec<Vec<u8>>,
    pub host: &'static str,
}

impl Case {
    fn new(name: &'static str, chain: &Chain) -> Case {
        Case::of(name, chain.shown(), &chain.server, vec![chain.root.der.clone()])
    }

    fn of(name: &'static str, shown: Vec<Vec<u8>>, server: &Node, trusted: Vec<Vec<u8>>) -> Case {
        let key = server.key.serialize_der();
        Case { name, shown, key, trusted, lists: Vec::new(), host: "localhost" }
    }

    /// A certificate that is itself trusted.
    fn pinned(name: &'static str, change: Change<'_>) -> Case {
        let node = self_signed("localhost", change);
        Case::of(name, vec![node.der.clone()], &node, vec![node.der.clone()])
    }

    fn root(name: &'static str, change: Change<'_>) -> Case {
        Case::new(name, &Chain::new(change, &[], AS_USUAL))
    }

    fn link(name: &'static str, change: Change<'_>) -> Case {
        Case::new(name, &Chain::new(AS_USUAL, &[change], AS_USUAL))
    }

    pub fn server(name: &'static str, change: Change<'_>) -> Case {
        Case::new(name, &Chain::new(AS_USUAL, &[], change))
    }

    fn host(self, host: &'static str) -> Case {
        Case { host, ..self }
    }

    fn lists(self, lists: Vec<Vec<u8>>) -> Case {
        Case { lists, ..self }
    }
}

fn expired(parameters: &mut CertificateParams) {
    parameters.not_after = date_time_ymd(2001, 1, 1);
}

fn not_yet_valid(parameters: &mut CertificateParams) {
    parameters.not_before = date_time_ymd(3999, 1, 1);
}

fn path_length(length: u8) -> impl Fn(&mut CertificateParams) + use<> {
    move |parameters| parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(length))
}

fn usage(usages: &[KeyUsagePurpose]) -> impl Fn(&mut CertificateParams) + use<> {
    let usages = usages.to_vec();
    move |parameters| parameters.key_usages.clone_from(&usages)
}

fn extended(usages: &[ExtendedKeyUsagePurpose]) -> impl Fn(&mut CertificateParams) + use<> {
    let usages = usages.to_vec();
    move |parameters| parameters.extended_key_usages.clone_from(&usages)
}

fn names(names: &[SanType]) -> impl Fn(&mut CertificateParams) + use<> {
    let names = names.to_vec();
    move |parameters| parameters.subject_alt_names.clone_from(&names)
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(Ia5String::try_from(name).expect("ASCII"))
}

fn address(text: &str) -> SanType {
    SanType::IpAddress(text.parse().expect("an address"))
}

fn common_name(name: &str) -> impl Fn(&mut CertificateParams) + use<> {
    let name = name.to_owned();
    move |parameters| {
        parameters.subject_alt_names.clear();
        parameters.distinguished_name.push(DnType::CommonName, name.as_str());
    }
}

fn allows(trees: &[&GeneralSubtree]) -> impl Fn(&mut CertificateParams) + use<> {
    let permitted_subtrees: Vec<_> = trees.iter().map(|tree| (*tree).clone()).collect();
    move |parameters| {
        let permitted_subtrees = permitted_subtrees.clone();
        parameters.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: vec![] });
    }
}

fn excludes(trees: &[&GeneralSubtree]) -> impl Fn(&mut CertificateParams) + use<> {
    let excluded_subtrees: Vec<_> = trees.iter().map(|tree| (*tree).clone()).collect();
    move |parameters| {
        let excluded_subtrees = excluded_subtrees.clone();
        parameters.name_constraints = Some(NameConstraints { permitted_subtrees: vec![], excluded_subtrees });
    }
}

fn domain(name: &str) -> GeneralSubtree {
    GeneralSubtree::DnsName(name.to_owned())
}

fn with(
    identifier: &'static [u64],
    is_critical: bool,
    content: &'static [u8],
) -> impl Fn(&mut CertificateParams) + use<> {
    move |parameters| parameters.custom_extensions.push(extension(identifier, is_critical, content))
}

const TO_2099: &[u8; 13] = b"490101000000Z";
const TO_2001: &[u8; 13] = b"010101000000Z";

fn chains() -> Vec<Case> {
    let plain = Chain::new(AS_USUAL, &[], AS_USUAL);
    let long = Chain::new(AS_USUAL, &[AS_USUAL], AS_USUAL);
    let other = self_signed("root", AS_USUAL);
    let longest = Chain::new(AS_USUAL, &[AS_USUAL, AS_USUAL], AS_USUAL);
    let server = vec![long.server.der.clone()];
    let (root, link) = (long.root.der.clone(), long.links[0].der.clone());
    let rollover = issue(&plain.root, authority("root", 9), AS_USUAL);
    let under_rollover = issue(&rollover, crate::forge::of_server(&["localhost"]), AS_USUAL);
    vec![
        Case::new("issued by the root", &plain),
        Case::new("issued through an intermediate", &long),
        Case::new("issued through two intermediates", &longest),
        Case::of("intermediate not sent", server.clone(), &long.server, vec![root.clone()]),
        Case::of(
            "intermediate not sent, but in the root file",
            server.clone(),
            &long.server,
            vec![root.clone(), link.clone()],
        ),
        Case::of("root file with the intermediate alone", long.shown(), &long.server, vec![link]),
        Case::of("root file with the server's certificate alone", server.clone(), &long.server, server),
        Case::of("another root of the same name", plain.shown(), &plain.server, vec![other.der.clone()]),
        Case::of(
            "both roots of one name",
            plain.shown(),
            &plain.server,
            vec![plain.root.der.clone(), other.der],
        ),
        Case::of(
            "root also sent",
            [plain.shown(), vec![plain.root.der.clone()]].concat(),
            &plain.server,
            vec![plain.root.der.clone()],
        ),
        Case::of(
            "intermediate of the root's name (rollover)",
            vec![under_rollover.der.clone(), rollover.der.clone()],
            &under_rollover,
            vec![plain.root.der.clone()],
        ),
        Case::server("certificate expired", &expired),
        Case::server("certificate not yet valid", &not_yet_valid),
        Case::link("intermediate expired", &expired),
        Case::link("intermediate not yet valid", &not_yet_valid),
        Case::root("root expired", &expired),
        Case::root("root not yet valid", &not_yet_valid),
    ]
}

fn authorities() -> Vec<Case> {
    let (no, explicit): (Change<'_>, Change<'_>) =
        (&|parameters| parameters.is_ca = IsCa::NoCa, &|parameters| parameters.is_ca = IsCa::ExplicitNoCa);
    let (zero, one) = (path_length(0), path_length(1));
    let signs_lists = usage(&[KeyUsagePurpose::CrlSign]);
    let none = usage(&[]);
    let (client, serves) =
        (extended(&[ExtendedKeyUsagePurpose::ClientAuth]), extended(&[ExtendedKeyUsagePurpose::ServerAuth]));
    vec![
        Case::root("root with CA:FALSE", explicit),
        Case::root("root without basic constraints", no),
        Case::root("root without basic constraints and key usage", &|parameters| {
            parameters.is_ca = IsCa::NoCa;
            parameters.key_usages.clear();
        }),
        Case::root("root without key usage", &none),
        Case::root("root without certificate signing in its key usage", &signs_lists),
        Case::root("root with extended key usage for clients alone", &client),
        Case::root("root with extended key usage for servers", &serves),
        Case::root("root with path length 0, no intermediate", &zero),
        Case::new("root with path length 0, an intermediate", &Chain::new(&zero, &[AS_USUAL], AS_USUAL)),
        Case::new("root with path length 1, an intermediate", &Chain::new(&one, &[AS_USUAL], AS_USUAL)),
        Case::new(
            "root with path length 1, two intermediates",
            &Chain::new(&one, &[AS_USUAL, AS_USUAL], AS_USUAL),
        ),
        Case::link("intermediate with path length 0", &zero),
        Case::new(
            "intermediate with path length 0 above another",
            &Chain::new(AS_USUAL, &[&zero, AS_USUAL], AS_USUAL),
        ),
        Case::link("intermediate with CA:FALSE", explicit),
        Case::link("intermediate without basic constraints", no),
        Case::link("intermediate without key usage", &none),
        Case::link("intermediate without certificate signing in its key usage", &signs_lists),
        Case::link("intermediate with extended key usage for clients alone", &client),
        Case::link("intermediate with extended key usage for servers", &serves),
    ]
}

fn usages() -> Vec<Case> {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth};
    use KeyUsagePurpose::{DataEncipherment, DigitalSignature, KeyAgreement, KeyCertSign, KeyEncipherment};
    let key = |name, usages: &[KeyUsagePurpose]| Case::server(name, &usage(usages));
    let purpose = |name, usages: &[ExtendedKeyUsagePurpose]| Case::server(name, &extended(usages));
    vec![
        key("key usage: digital signature", &[DigitalSignature]),
        key("key usage: key encipherment", &[KeyEncipherment]),
        key("key usage: key agreement", &[KeyAgreement]),
        key("key usage: data encipherment alone", &[DataEncipherment]),
        key("key usage: certificate signing alone", &[KeyCertSign]),
        purpose("extended key usage: servers", &[ServerAuth]),
        purpose("extended key usage: servers and clients", &[ServerAuth, ClientAuth]),
        purpose("extended key usage: clients alone", &[ClientAuth]),
        purpose("extended key usage: code signing alone", &[CodeSigning]),
        purpose("extended key usage: any", &[Any]),
        Case::server("CA:TRUE, issued by the root", &|parameters| {
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }),
        Case::new(
            "CA:TRUE, issued through an intermediate",
            &Chain::new(AS_USUAL, &[AS_USUAL], &|parameters| {
                parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }),
        ),
        Case::server("CA:FALSE, issued by the root", &|parameters| parameters.is_ca = IsCa::ExplicitNoCa),
    ]
}

fn extensions() -> Vec<Case> {
    vec![
        Case::server(
            "critical extension that nobody knows",
            &with(&[1, 3, 6, 1, 4, 1, 99999, 1], true, &[5, 0]),
        ),
        Case::server("extension that nobody knows", &with(&[1, 3, 6, 1, 4, 1, 99999, 1], false, &[5, 0])),
        Case::root(
            "root with a critical extension that nobody knows",
            &with(&[1, 3, 6, 1, 4, 1, 99999, 1], true, &[5, 0]),
        ),
        Case::server(
            "proxy certificate",
            &with(
                &[1, 3, 6, 1, 5, 5, 7, 1, 14],
                false,
                &[0x30, 12, 0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 21, 1],
            ),
        ),
        Case::server(
            "Netscape type: server",
            &with(&[2, 16, 840, 1, 113_730, 1, 1], false, &[3, 2, 6, 0x40]),
        ),
        Case::server(
            "Netscape type: client",
            &with(&[2, 16, 840, 1, 113_730, 1, 1], false, &[3, 2, 7, 0x80]),
        ),
        Case::server("basic constraints twice", &|parameters| {
            parameters.is_ca = IsCa::ExplicitNoCa;
            parameters.custom_extensions.push(extension(&[2, 5, 29, 19], false, &[0x30, 0]));
        }),
        Case::server("another authority in its key identifier", &|parameters| {
            parameters.use_authority_key_identifier_extension = false;
            let content = [0x30, 6, 0x80, 4, 1, 2, 3, 4];
            parameters.custom_extensions.push(extension(&[2, 5, 29, 35], false, &content));
        }),
        Case::server("another serial number of its authority", &|parameters| {
            parameters.use_authority_key_identifier_extension = false;
            let name =
                [0x30, 0x0f, 0x31, 0x0d, 0x30, 0x0b, 6, 3, 0x55, 4, 3, 0x0c, 4, b'r', b'o', b'o', b't'];
            let content = [&[0x30, 24, 0xa1, 19, 0xa4, 17][..], &name, &[0x82, 1, 55]].concat();
            parameters.custom_extensions.push(extension(&[2, 5, 29, 35], false, &content));
        }),
        Case::server("no authority key identifier", &|parameters| {
            parameters.use_authority_key_identifier_extension = false;
        }),
    ]
}

fn constraints() -> Vec<Case> {
    let (ours, other) = (domain("localhost"), domain("example.com"));
    let case = |name, root: Change<'_>, server: Change<'_>| Case::new(name, &Chain::new(root, &[], server));
    let person = {
        let mut person = DistinguishedName::new();
        person.push(DnType::CommonName, "server");
        GeneralSubtree::DirectoryName(person)
    };
    let mail = GeneralSubtree::Rfc822Name("example.com".to_owned());
    let local = GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8));
    let remote = GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([10, 0, 0, 0], 8));
    let by_address = names(&[address("127.0.0.1")]);
    let by_both = names(&[dns("localhost"), address("127.0.0.1")]);
    vec![
        case("within the root's name constraints", &allows(&[&ours]), AS_USUAL),
        case("outside of the root's name constraints", &allows(&[&other]), AS_USUAL),
        case("excluded by the root's name constraints", &excludes(&[&ours]), AS_USUAL),
        case("not excluded by the root's name constraints", &excludes(&[&other]), AS_USUAL),
        Case::link("outside of the intermediate's name constraints", &allows(&[&other])),
        Case::link("within the intermediate's name constraints", &allows(&[&ours])),
        case(
            "one of two names outside of the constraints",
            &allows(&[&ours]),
            &names(&[dns("localhost"), dns("evil.example.org")]),
        ),
        case("subdomain within the constraints", &allows(&[&other]), &names(&[dns("db.example.com")]))
            .host("db.example.com"),
        case("wildcard within the constraints", &allows(&[&other]), &names(&[dns("*.example.com")]))
            .host("db.example.com"),
        case(
            "wildcard wider than the constraints",
            &allows(&[&domain("db.example.com")]),
            &names(&[dns("*.example.com")]),
        )
        .host("db.example.com"),
        case("common name within the constraints", &allows(&[&ours]), &common_name("localhost")),
        case("common name outside of the constraints", &allows(&[&other]), &common_name("localhost")),
        case("common name excluded by the constraints", &excludes(&[&ours]), &common_name("localhost")),
        case(
            "common name with a dot within the constraints",
            &allows(&[&other]),
            &common_name("db.example.com"),
        )
        .host("db.example.com"),
        case(
            "common name with a dot outside of the constraints",
            &allows(&[&other]),
            &common_name("db.example.org"),
        )
        .host("db.example.org"),
        case("CA:TRUE, outside of the root's name constraints", &allows(&[&other]), &|parameters| {
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }),
        case("address within the constraints", &allows(&[&local]), &by_both).host("127.0.0.1"),
        case("address outside of the constraints", &allows(&[&remote]), &by_both).host("127.0.0.1"),
        case("address alone within the constraints", &allows(&[&local]), &by_address).host("127.0.0.1"),
        case("address alone outside of the constraints", &allows(&[&remote]), &by_address).host("127.0.0.1"),
        case("subject within constraints of subjects", &allows(&[&person]), AS_USUAL),
        case("subject excluded by constraints of subjects", &excludes(&[&person]), AS_USUAL),
        case("constraints of mail addresses", &allows(&[&mail]), AS_USUAL),
        case("mail address in the subject outside of the constraints", &allows(&[&mail]), &|parameters| {
            let kind = DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]);
            let value = rcgen::DnValue::Ia5String(Ia5String::try_from("a@example.org").expect("ASCII"));
            parameters.distinguished_name.push(kind, value);
        }),
    ]
}

fn of_version_1() -> Vec<Case> {
    let root = self_signed("root", AS_USUAL);
    let constrained = self_signed("root", &allows(&[&domain("example.com")]));
    let narrow = self_signed("root", &usage(&[KeyUsagePurpose::CrlSign]));
    let long = Chain::new(AS_USUAL, &[AS_USUAL], AS_USUAL);
    let leaf = |root: &Node, until| version_1(&["localhost"], Some(("root", &root.key)), until);
    let case = |name, server: &Node, root: &Node| {
        Case::of(name, vec![server.der.clone()], server, vec![root.der.clone()])
    };
    let (good, old) = (leaf(&root, TO_2099), leaf(&root, TO_2001));
    let (outside, unsigned) = (leaf(&constrained, TO_2099), leaf(&narrow, TO_2099));
    let forged = leaf(&constrained, TO_2099);
    let under_link = version_1(&["localhost"], Some(("link 0", &long.links[0].key)), TO_2099);
    let old_root = version_1(&["root"], None, TO_2099);
    let under_old_root = issue(&old_root, crate::forge::of_server(&["localhost"]), &|parameters| {
        parameters.use_authority_key_identifier_extension = false;
    });
    let old_link = version_1(&["link"], Some(("root", &root.key)), TO_2099);
    let under_old_link = issue(&old_link, crate::forge::of_server(&["localhost"]), &|parameters| {
        parameters.use_authority_key_identifier_extension = false;
    });
    let pinned_1 = version_1(&["localhost"], None, TO_2099);
    vec![
        case("version 1, issued by the root", &good, &root),
        case("version 1, expired", &old, &root),
        case("version 1, signed by another key", &forged, &root),
        case("version 1, root with name constraints", &outside, &constrained),
        case("version 1, root without certificate signing in its key usage", &unsigned, &narrow),
        Case::of(
            "version 1, issued through an intermediate",
            vec![under_link.der.clone(), long.links[0].der.clone()],
            &under_link,
            vec![long.root.der.clone()],
        ),
        case("root of version 1", &under_old_root, &old_root),
        Case::of(
            "intermediate of version 1",
            vec![under_old_link.der.clone(), old_link.der.clone()],
            &under_old_link,
            vec![root.der.clone()],
        ),
        case("self-signed of version 1, trusted itself", &pinned_1, &pinned_1),
    ]
}

fn pinned() -> Vec<Case> {
    let root = self_signed("root", AS_USUAL);
    let pinned = self_signed("localhost", &|parameters| parameters.is_ca = IsCa::ExplicitNoCa);
    let under_pinned = issue(&pinned, crate::forge::of_server(&["localhost"]), AS_USUAL);
    let stranger = self_signed("localhost", AS_USUAL);
    let serving = [KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let case = |name, server: &Node, root: &Node| {
        Case::of(name, vec![server.der.clone()], server, vec![root.der.clone()])
    };
    vec![
        Case::pinned("self-signed, trusted itself, CA:TRUE", &usage(&[])),
        Case::pinned("self-signed, trusted itself, CA:FALSE", &|parameters| {
            parameters.key_usages.clear();
            parameters.is_ca = IsCa::ExplicitNoCa;
        }),
        Case::pinned("self-signed, trusted itself, no basic constraints", &|parameters| {
            parameters.key_usages.clear();
            parameters.is_ca = IsCa::NoCa;
        }),
        Case::pinned("self-signed, trusted itself, key usage: certificate signing alone", AS_USUAL),
        Case::pinned("self-signed, trusted itself, key usage with digital signature", &usage(&serving)),
        Case::pinned("self-signed, trusted itself, extended key usage for clients alone", &|parameters| {
            parameters.key_usages.clear();
            parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }),
        Case::pinned("self-signed, trusted itself, expired", &|parameters| {
            parameters.key_usages.clear();
            expired(parameters);
        }),
        case("issued by a trusted certificate with CA:FALSE", &under_pinned, &pinned),
        case("self-signed, not trusted", &stranger, &root),
        Case::of(
            "self-signed, of a trusted one's name",
            vec![stranger.der.clone()],
            &stranger,
            vec![self_signed("localhost", AS_USUAL).der],
        ),
    ]
}

fn hosts() -> Vec<Case> {
    let root = self_signed("root", AS_USUAL);
    let two = |names: &[&str]| version_1(names, Some(("root", &root.key)), TO_2099);
    let (first, second) = (two(&["localhost", "other"]), two(&["other", "localhost"]));
    let of_root =
        |name, server: &Node| Case::of(name, vec![server.der.clone()], server, vec![root.der.clone()]);
    let san = |name, list: &[SanType], host| Case::server(name, &names(list)).host(host);
    let in_both = |name, host: &'static str, list: &[SanType], common: &str| {
        let common = common.to_owned();
        let list = list.to_vec();
        Case::server(name, &move |parameters| {
            common_name(&common)(parameters);
            parameters.subject_alt_names.clone_from(&list);
        })
        .host(host)
    };
    vec![
        san("another host's name", &[dns("db.example.com")], "localhost"),
        san("the second of two names", &[dns("db.example.com"), dns("localhost")], "localhost"),
        san("name in capitals", &[dns("LOCALHOST")], "localhost"),
        san("wildcard", &[dns("*.example.com")], "db.example.com"),
        san("wildcard for two labels", &[dns("*.example.com")], "a.db.example.com"),
        san("wildcard for no label", &[dns("*.example.com")], "example.com"),
        san("wildcard alone", &[dns("*")], "localhost"),
        san("wildcard for a part of a label", &[dns("d*.example.com")], "db.example.com"),
        san("wildcard for a top-level domain", &[dns("*.com")], "example.com"),
        san("name with a zero byte", &[dns("localhost\0.example.com")], "localhost"),
        san("zero byte in the first of two names", &[dns("x\0y"), dns("localhost")], "localhost"),
        san("address", &[address("127.0.0.1")], "127.0.0.1"),
        san("another address", &[address("127.0.0.2")], "127.0.0.1"),
        san("address as a name", &[dns("127.0.0.1")], "127.0.0.1"),
        san("address for a host's name", &[address("127.0.0.1")], "localhost"),
        Case::server("common name alone", &common_name("localhost")),
        Case::server("another common name alone", &common_name("other")),
        Case::server("wildcard as the common name", &common_name("*.example.com")).host("db.example.com"),
        Case::server("address as the common name", &common_name("127.0.0.1")).host("127.0.0.1"),
        in_both("common name beside another name", "localhost", &[dns("other")], "localhost"),
        in_both("common name beside an address", "localhost", &[address("127.0.0.1")], "localhost"),
        in_both(
            "address as the common name beside another address",
            "127.0.0.1",
            &[address("10.0.0.1")],
            "127.0.0.1",
        ),
        in_both(
            "short address as the common name beside another address",
            "127.1",
            &[address("10.0.0.1")],
            "127.1",
        ),
        of_root("two common names, the first is the host's", &first),
        of_root("two common names, the second is the host's", &second),
    ]
}

fn revocation() -> Vec<Case> {
    const VALID: (i32, i32) = (2020, 4000);
    let plain = Chain::new(AS_USUAL, &[], AS_USUAL);
    let long = Chain::new(AS_USUAL, &[AS_USUAL], AS_USUAL);
    let other = self_signed("other", AS_USUAL);
    let case = |name, lists| Case::new(name, &plain).lists(lists);
    let of_long = |name, lists| Case::new(name, &long).lists(lists);
    let no_lists = Chain::new(&usage(&[KeyUsagePurpose::KeyCertSign]), &[], AS_USUAL);
    let by_no_lists = list(&no_lists.root, VALID, &[]);
    let (root, link) = (&long.root, &long.links[0]);
    let pinned = self_signed("localhost", &usage(&[]));
    let old = version_1(&["localhost"], Some(("root", &plain.root.key)), TO_2099);
    let pinned_case = Case::of(
        "self-signed, trusted itself, list without it",
        vec![pinned.der.clone()],
        &pinned,
        vec![pinned.der.clone()],
    );
    let old_case =
        Case::of("version 1, list without it", vec![old.der.clone()], &old, vec![plain.root.der.clone()]);
    vec![
        case("list without it", vec![list(&plain.root, VALID, &[])]),
        case("list with it", vec![list(&plain.root, VALID, &[100])]),
        case("list of another authority alone", vec![list(&other, VALID, &[])]),
        case("list that has expired", vec![list(&plain.root, (2020, 2021), &[])]),
        case("list that is not yet valid", vec![list(&plain.root, (3998, 3999), &[])]),
        case(
            "newer list with it after an older without",
            vec![list(&plain.root, VALID, &[]), list(&plain.root, (2024, 4000), &[100])],
        ),
        case(
            "newer list with it before an older without",
            vec![list(&plain.root, (2024, 4000), &[100]), list(&plain.root, VALID, &[])],
        ),
        case("list with the root itself", vec![list(&plain.root, VALID, &[1])]),
        of_long(
            "lists of root and intermediate without them",
            vec![list(root, VALID, &[]), list(link, VALID, &[])],
        ),
        of_long("list of the root alone, an intermediate", vec![list(root, VALID, &[])]),
        of_long("list of the intermediate alone", vec![list(link, VALID, &[])]),
        of_long("list with the intermediate", vec![list(root, VALID, &[10]), list(link, VALID, &[])]),
        of_long("list of the intermediate with it", vec![list(root, VALID, &[]), list(link, VALID, &[100])]),
        Case::new("root without list signing in its key usage", &no_lists).lists(vec![by_no_lists]),
        pinned_case.lists(vec![list(&pinned, VALID, &[])]),
        old_case.lists(vec![list(&plain.root, VALID, &[])]),
    ]
}
