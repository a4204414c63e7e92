//! Passwords against values of the servers and of openssl.

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `SELECT PASSWORD('secret')` gives SHA1(SHA1(password)), by which a server checks the proof: proof xor
/// SHA1(nonce, stored) must hash to what is stored.
#[test]
fn a_native_proof_is_accepted_by_the_servers_check() {
    const STORED: [u8; 20] = [
        0x14, 0xe6, 0x55, 0x67, 0xab, 0xdb, 0x51, 0x35, 0xd0, 0xcf, 0xd9, 0xa7, 0x0b, 0x30, 0x32, 0xc1, 0x79,
        0xa4, 0x9e, 0xe7,
    ];
    let nonce = b"abcdefghijklmnopqrst";
    let mut once = native(b"secret", nonce);
    let mask = Sha1::new().chain_update(nonce).chain_update(STORED).finalize();
    once.iter_mut().zip(mask).for_each(|(byte, with)| *byte ^= with);
    assert_eq!(hex(&Sha1::digest(once)), hex(&STORED));
}

#[test]
fn a_sha2_proof_is_accepted_by_the_servers_check() {
    let nonce = b"abcdefghijklmnopqrst";
    let stored = Sha256::digest(Sha256::digest(b"secret"));
    let mut once = caching_sha2(b"secret", nonce);
    let mask = Sha256::new().chain_update(stored).chain_update(nonce).finalize();
    once.iter_mut().zip(mask).for_each(|(byte, with)| *byte ^= with);
    assert_eq!(Sha256::digest(once), stored);
}

/// Of `openssl genrsa 1024`, `openssl rsa -pubout`.
const KEY: &str = include_str!("public.pem");
/// Its private exponent, of `openssl rsa -text`.
const PRIVATE_EXPONENT: &str = include_str!("private_exponent.hex");

/// Undoes what [`encrypted`] does, by the definition.
fn decrypted(message: &[u8], nonce: &[u8]) -> Vec<u8> {
    let (modulus, _) = public_key(KEY).unwrap();
    let exponent = BigUint::parse_bytes(PRIVATE_EXPONENT.trim().as_bytes(), 16).unwrap();
    let number = BigUint::from_bytes_be(message).modpow(&exponent, &modulus).to_bytes_be();
    // A number has no leading zeros: the first byte is always one, and of 256 random seeds one begins with another.
    let mut padded = vec![0; message.len() - number.len()];
    padded.extend_from_slice(&number);
    let (seed, block) = padded[1..].split_at(20);
    let (mut seed, mut block) = (seed.to_vec(), block.to_vec());
    xor_mask(&mut seed, &block);
    xor_mask(&mut block, &seed);
    assert_eq!(block[..20], *Sha1::digest([]));
    let one = 20 + block[20..].iter().position(|byte| *byte == 1).unwrap();
    assert!(block[20..one].iter().all(|byte| *byte == 0));
    block[one + 1..].iter().zip(nonce.iter().cycle()).map(|(byte, with)| byte ^ with).collect()
}

#[test]
fn an_encrypted_password_is_read_by_the_private_key() {
    let nonce = b"abcdefghijklmnopqrst";
    let first = encrypted(b"a password longer than the nonce", nonce, KEY.as_bytes()).unwrap();
    assert_eq!(first.len(), 128);
    assert_eq!(decrypted(&first, nonce), b"a password longer than the nonce\0");
    let second = encrypted(b"a password longer than the nonce", nonce, KEY.as_bytes()).unwrap();
    assert_ne!(first, second, "the seed is random");
}

#[test]
fn a_masked_seed_that_begins_with_a_zero_is_read_too() {
    let (modulus, exponent) = public_key(KEY).unwrap();
    let mut padded = (0..=255).filter_map(|byte| oaep(b"x", 128, [byte; 20]));
    let padded = padded.find(|padded| padded[1] == 0).unwrap();
    let message = BigUint::from_bytes_be(&padded).modpow(&exponent, &modulus).to_bytes_be();
    assert_eq!(decrypted(&message, &[0]), b"x");
}

/// An element of DER.
fn element_of(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x84], length.as_slice(), content].concat()
}

#[test]
fn keys_that_are_none_are_refused() {
    let nonce = b"abcdefghijklmnopqrst";
    assert_eq!(encrypted(b"x", nonce, b"no key"), None);
    assert_eq!(encrypted(b"x", nonce, b"\xff\xfe"), None);
    assert_eq!(encrypted(b"x", b"", KEY.as_bytes()), None);
    assert_eq!(encrypted(&[b'x'; 200], nonce, KEY.as_bytes()), None, "it does not fit into the modulus");
    let of_bits = |modulus: usize, exponent: usize| {
        let number = |bits: usize| element_of(INTEGER, &[&[0], vec![0xff; bits / 8].as_slice()].concat());
        let key = element_of(SEQUENCE, &[number(modulus), number(exponent)].concat());
        let bits = element_of(BIT_STRING, &[&[0], key.as_slice()].concat());
        STANDARD.encode(element_of(SEQUENCE, &[element_of(SEQUENCE, &[]), bits].concat()))
    };
    assert!(encrypted(b"x", nonce, of_bits(16_384, 64).as_bytes()).is_some());
    for (modulus, exponent) in [(16_392, 64), (2048, 72), (504, 24)] {
        let key = of_bits(modulus, exponent);
        assert_eq!(encrypted(b"x", nonce, key.as_bytes()), None, "{modulus} {exponent}");
    }
    let lines: Vec<&str> = KEY.lines().collect();
    let der = STANDARD.decode(lines[1..lines.len() - 1].concat()).unwrap();
    for length in 0..der.len() {
        let cut = STANDARD.encode(&der[..length]);
        assert_eq!(encrypted(b"x", nonce, cut.as_bytes()), None, "{length}");
    }
}
