//! How a password is shown to be known without being sent: MySQL's two ways, and the encryption of the second one
//! where the server has to see the password itself.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::ops::RangeInclusive;

/// `mysql_native_password`: SHA1(password) xor SHA1(nonce, SHA1(SHA1(password))).
pub fn native(password: &[u8], nonce: &[u8]) -> [u8; 20] {
    let once: [u8; 20] = Sha1::digest(password).into();
    let twice = Sha1::digest(once);
    let mut mixed: [u8; 20] = Sha1::new().chain_update(nonce).chain_update(twice).finalize().into();
    mixed.iter_mut().zip(once).for_each(|(byte, with)| *byte ^= with);
    mixed
}

/// `caching_sha2_password`: SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce).
pub fn caching_sha2(password: &[u8], nonce: &[u8]) -> [u8; 32] {
    let once: [u8; 32] = Sha256::digest(password).into();
    let twice = Sha256::digest(once);
    let mut mixed: [u8; 32] = Sha256::new().chain_update(twice).chain_update(nonce).finalize().into();
    mixed.iter_mut().zip(once).for_each(|(byte, with)| *byte ^= with);
    mixed
}

/// The password, xor the nonce, encrypted with the server's public key by RSA with OAEP over SHA1, which is what the
/// servers do. None where the key is no RSA key, or too short.
pub fn encrypted(password: &[u8], nonce: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    if nonce.is_empty() {
        return None;
    }
    let (modulus, exponent) = public_key(std::str::from_utf8(key).ok()?)?;
    let secret: Vec<u8> =
        password.iter().chain(&[0]).zip(nonce.iter().cycle()).map(|(byte, with)| byte ^ with).collect();
    let length = usize::try_from(modulus.bits().div_ceil(8)).ok()?;
    let mut seed = [0; 20];
    fill_random(&mut seed)?;
    let padded = oaep(&secret, length, seed)?;
    let encrypted = BigUint::from_bytes_be(&padded).modpow(&exponent, &modulus).to_bytes_be();
    let mut answer = vec![0; length.checked_sub(encrypted.len())?];
    answer.extend_from_slice(&encrypted);
    Some(answer)
}

/// RFC 8017, section 7.1.1, with an empty label. None where the message does not fit.
fn oaep(message: &[u8], length: usize, seed: [u8; 20]) -> Option<Vec<u8>> {
    let hash_length = seed.len();
    let block_length = length.checked_sub(hash_length + 1)?;
    let zeros = block_length.checked_sub(hash_length + 1 + message.len())?;
    let mut block = Sha1::digest([]).to_vec();
    block.resize(block.len() + zeros, 0);
    block.push(1);
    block.extend_from_slice(message);
    xor_mask(&mut block, &seed);
    let mut masked_seed = seed;
    xor_mask(&mut masked_seed, &block);
    Some([&[0], masked_seed.as_slice(), &block].concat())
}

/// MGF1 over SHA1, applied.
fn xor_mask(bytes: &mut [u8], seed: &[u8]) {
    for (piece, counter) in bytes.chunks_mut(20).zip(0_u32..) {
        let mask = Sha1::new().chain_update(seed).chain_update(counter.to_be_bytes()).finalize();
        piece.iter_mut().zip(mask).for_each(|(byte, with)| *byte ^= with);
    }
}

fn fill_random(bytes: &mut [u8]) -> Option<()> {
    // SAFETY: the buffer is valid for its length; up to 256 bytes are never cut short.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    (usize::try_from(filled) == Ok(bytes.len())).then_some(())
}

/// Keys of servers have 2048 bits, and all have the exponent 65537. A modulus of nothing would be divided by; a server that sends one of a
/// megabyte would have the power of it taken for hours.
const MODULUS_BITS: RangeInclusive<u64> = 512..=16_384;
const EXPONENT_BITS_MAX: u64 = 64;

/// Modulus and exponent of a public key in PEM: a SubjectPublicKeyInfo.
fn public_key(pem: &str) -> Option<(BigUint, BigUint)> {
    let base64: String = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD.decode(base64.trim_end_matches('\0')).ok()?;
    let mut info = element(&mut der.as_slice(), SEQUENCE)?;
    element(&mut info, SEQUENCE)?;
    let bits = element(&mut info, BIT_STRING)?;
    // No bits are unused in the last byte.
    let mut key = element(&mut bits.strip_prefix(&[0])?, SEQUENCE)?;
    let modulus = BigUint::from_bytes_be(element(&mut key, INTEGER)?);
    let exponent = BigUint::from_bytes_be(element(&mut key, INTEGER)?);
    (MODULUS_BITS.contains(&modulus.bits()) && exponent.bits() <= EXPONENT_BITS_MAX)
        .then_some((modulus, exponent))
}

/// DER tags.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// The content of the next element, which must have this tag.
fn element<'a>(der: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&[found, first], rest) = der.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *der = rest;
    Some(content)
}

#[cfg(test)]
mod tests;
