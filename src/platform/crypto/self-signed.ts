import { webcrypto } from 'node:crypto';

const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
};

/** Returns a new RSA key of `bits` bits and its self-signed certificate, both in PEM. */
export async function newSelfSigned(
  named: string,
  { from, until, bits }: { from: Date; until: Date; bits: 2048 | 3072 },
) {
  await import('reflect-metadata'); // the library needs this loaded first
  const { X509CertificateGenerator } = await import('@peculiar/x509'); // loading takes 0.1 s: only when a key is made
  const keys = await webcrypto.subtle.generateKey({ ...algorithm, modulusLength: bits }, true, ['sign', 'verify']);
  const name = [{ CN: [named] }];
  const validity = { notBefore: from, notAfter: until };
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name, keys, ...validity, signingAlgorithm: algorithm },
    webcrypto as Crypto,
  );
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const lines = pkcs8.match(/.{1,64}/g) ?? [];
  return {
    privateKey: ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----'].join('\n'),
    certificate: certificate.toString('pem'),
  };
}
