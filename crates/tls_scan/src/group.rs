//! Groups for the exchange of keys: curves, finite fields, and hybrids with ML-KEM; and signature algorithms. IANA's
//! registries "TLS Supported Groups" and "TLS SignatureScheme". Pure.

/// Number, name, and size in bits of the curve or the field; 0 for a hybrid. In the order of the ClientHello.
pub(crate) const GROUPS: [(u16, &str, u32); 35] = [
    (0x11ec, "X25519MLKEM768", 0),
    (0x11eb, "SecP256r1MLKEM768", 0),
    (0x11ed, "SecP384r1MLKEM1024", 0),
    (0x001d, "x25519", 253),
    (0x0017, "secp256r1", 256),
    (0x001e, "x448", 446),
    (0x0018, "secp384r1", 384),
    (0x0019, "secp521r1", 521),
    (0x001a, "brainpoolP256r1", 256),
    (0x001b, "brainpoolP384r1", 384),
    (0x001c, "brainpoolP512r1", 512),
    (0x001f, "brainpoolP256r1tls13", 256),
    (0x0020, "brainpoolP384r1tls13", 384),
    (0x0021, "brainpoolP512r1tls13", 512),
    (0x0016, "secp256k1", 256),
    (0x0100, "ffdhe2048", 2048),
    (0x0101, "ffdhe3072", 3072),
    (0x0102, "ffdhe4096", 4096),
    (0x0103, "ffdhe6144", 6144),
    (0x0104, "ffdhe8192", 8192),
    (0x0015, "secp224r1", 224),
    (0x0014, "secp224k1", 224),
    (0x0013, "secp192r1", 192),
    (0x0012, "secp192k1", 192),
    (0x000e, "sect571r1", 571),
    (0x000c, "sect409r1", 409),
    (0x0009, "sect283r1", 283),
    (0x0007, "sect233r1", 233),
    (0x0006, "sect233k1", 233),
    (0x0003, "sect163r2", 163),
    (0x0002, "sect163r1", 163),
    (0x0001, "sect163k1", 163),
    (0x0011, "secp160r2", 160),
    (0x0010, "secp160r1", 160),
    (0x000f, "secp160k1", 160),
];

/// Name and size of a group; one that is not registered has its number as name.
pub(crate) fn named(code: u16) -> (String, u32) {
    let known = GROUPS.iter().find(|(known, ..)| *known == code);
    known.map_or_else(|| (format!("0x{code:04x}"), 0), |(_, name, bits)| ((*name).to_owned(), *bits))
}

/// Signature algorithms of a ClientHello: ECDSA, EdDSA, RSA-PSS, PKCS #1, DSA; SHA-1 and MD5 last. A server chooses
/// among those that its certificate's key can make.
pub(crate) const SIGNATURES: [u16; 29] = [
    0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x081a, 0x081b, 0x081c, 0x0809, 0x080a, 0x080b, 0x0804, 0x0805,
    0x0806, 0x0401, 0x0501, 0x0601, 0x0303, 0x0301, 0x0302, 0x0402, 0x0502, 0x0602, 0x0203, 0x0201, 0x0202,
    0x0101, 0x0904, 0x0905,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_unknown_ones_have_a_name() {
        for (index, (code, ..)) in GROUPS.iter().enumerate() {
            assert!(GROUPS[..index].iter().all(|(other, ..)| other != code), "{code}");
        }
        for (index, code) in SIGNATURES.iter().enumerate() {
            assert!(!SIGNATURES[..index].contains(code), "{code}");
        }
        assert_eq!(named(0x1d), ("x25519".to_owned(), 253));
        assert_eq!(named(0xfff0), ("0xfff0".to_owned(), 0));
    }
}
