//! Creates valid and invalid certificates: a chain has a root, intermediate certificates and the server's certificate,
//! each modified by the test. Used by the matrix in `certificates`.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CustomExtension, DnType, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData, RevokedCertParams, SerialNumber,
    SigningKey, date_time_ymd,
};

/// A certificate with its key.
pub struct Node {
    pub parameters: CertificateParams,
    pub key: KeyPair,
    pub der: Vec<u8>,
}

/// Modification of a certificate by a test.
pub type Change<'a> = &'a dyn Fn(&mut CertificateParams);

pub const AS_USUAL: Change<'static> = &|_| {};

/// From the root to the server's certificate.
pub struct Chain {
    pub root: Node,
    pub links: Vec<Node>,
    pub server: Node,
}

impl Chain {
    pub fn new(root: Change<'_>, links: &[Change<'_>], server: Change<'_>) -> Chain {
        let root = self_signed("root", root);
        let mut chain = Vec::new();
        for (number, change) in links.iter().enumerate() {
            let above = chain.last().unwrap_or(&root);
            let link = issue(above, authority(&format!("link {number}"), 10 + number as u64), change);
            chain.push(link);
        }
        let server = issue(chain.last().unwrap_or(&root), of_server(&["localhost"]), server);
        Chain { root, links: chain, server }
    }

    /// The server's certificate first, as servers send them.
    pub fn shown(&self) -> Vec<Vec<u8>> {
        std::iter::once(&self.server).chain(self.links.iter().rev()).map(|node| node.der.clone()).collect()
    }
}

/// A root with this name.
pub fn self_signed(name: &str, change: Change<'_>) -> Node {
    let mut parameters = authority(name, 1);
    change(&mut parameters);
    let key = KeyPair::generate().expect("a key");
    let der = parameters.self_signed(&key).expect("a certificate").der().to_vec();
    Node { parameters, key, der }
}

/// A certificate that another signs.
pub fn issue(issuer: &Node, mut parameters: CertificateParams, change: Change<'_>) -> Node {
    change(&mut parameters);
    let key = KeyPair::generate().expect("a key");
    let signer = Issuer::from_params(&issuer.parameters, &issuer.key);
    let der = parameters.signed_by(&key, &signer).expect("a certificate").der().to_vec();
    Node { parameters, key, der }
}

/// Parameters of an authority's certificate.
pub fn authority(name: &str, serial: u64) -> CertificateParams {
    let mut parameters = named(name, &[], serial);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters
}

/// Parameters of a server's certificate.
pub fn of_server(names: &[&str]) -> CertificateParams {
    named("server", names, 100)
}

fn named(name: &str, names: &[&str], serial: u64) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).expect("names");
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.not_before = date_time_ymd(2000, 1, 1);
    parameters.not_after = date_time_ymd(4000, 1, 1);
    parameters.serial_number = Some(SerialNumber::from(serial));
    parameters.use_authority_key_identifier_extension = true;
    parameters
}

/// An extension by its identifier and DER content.
pub fn extension(identifier: &[u64], is_critical: bool, content: &[u8]) -> CustomExtension {
    let mut extension = CustomExtension::from_oid_content(identifier, content.to_vec());
    extension.set_criticality(is_critical);
    extension
}

/// A revocation list, valid for these years.
pub fn list(issuer: &Node, years: (i32, i32), revoked: &[u64]) -> Vec<u8> {
    let revoked_certs = revoked.iter().map(|serial| RevokedCertParams {
        serial_number: SerialNumber::from(*serial),
        revocation_time: date_time_ymd(2001, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(years.0, 1, 1),
        next_update: date_time_ymd(years.1, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked_certs.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    // The client must check the permissions of the issuer's certificate.
    let mut parameters = issuer.parameters.clone();
    parameters.key_usages.clear();
    list.signed_by(&Issuer::from_params(&parameters, &issuer.key)).expect("a list").der().to_vec()
}

/// A certificate of X.509 version 1, which has no extensions, for these common names.
pub fn version_1(names: &[&str], issuer: Option<(&str, &KeyPair)>, until: &[u8; 13]) -> Node {
    let key = KeyPair::generate().expect("a key");
    let (issuer_name, signer) = issuer.unwrap_or((names[0], &key));
    let algorithm = [&[0x30, 10, 6, 8][..], &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]].concat();
    let validity = [tlv(0x17, b"000101000000Z"), tlv(0x17, until)].concat();
    let content = [
        tlv(2, &[77]),
        algorithm.clone(),
        distinguished_name(&[issuer_name]),
        tlv(0x30, &validity),
        distinguished_name(names),
        key.subject_public_key_info(),
    ];
    let content = tlv(0x30, &content.concat());
    let signature = [vec![0], signer.sign(&content).expect("a signature")].concat();
    let der = tlv(0x30, &[content, algorithm, tlv(3, &signature)].concat());
    Node { parameters: named(names[0], &[], 77), key, der }
}

fn distinguished_name(names: &[&str]) -> Vec<u8> {
    let attribute = |name: &&str| {
        let value = [tlv(6, &[0x55, 4, 3]), tlv(0x0c, name.as_bytes())].concat();
        tlv(0x31, &tlv(0x30, &value))
    };
    tlv(0x30, &names.iter().map(attribute).collect::<Vec<_>>().concat())
}

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length), _) if length < 128 => vec![tag, length],
        (Ok(length), _) => vec![tag, 0x81, length],
        (_, Ok(length)) => [&[tag, 0x82][..], &length.to_be_bytes()].concat(),
        _ => panic!("too long for a certificate"),
    };
    [&head, content].concat()
}
