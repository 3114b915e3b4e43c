import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';

export const xenc = 'http://www.w3.org/2001/04/xmlenc#';
export const xenc11 = 'http://www.w3.org/2009/xmlenc11#';
const dsig = 'http://www.w3.org/2000/09/xmldsig#';

export const oaepMgf1p = `<xenc:EncryptionMethod Algorithm="${xenc}rsa-oaep-mgf1p"/>`;
export const oaepOf = (digest: string, mask: string) =>
  `<xenc:EncryptionMethod Algorithm="${xenc11}rsa-oaep"><ds:DigestMethod xmlns:ds="${dsig}" Algorithm="${digest}"/><xenc11:MGF xmlns:xenc11="${xenc11}" Algorithm="${mask}"/></xenc:EncryptionMethod>`;

/** How a test encrypts; the defaults are those of honest providers. */
export interface Encrypting {
  cipher?: 'aes-128-gcm' | 'aes-256-gcm' | 'aes-128-cbc' | 'aes-256-cbc';
  /** The algorithm that the message names, if not the real one. */
  algorithm?: string;
  padding?: 'oaep' | 'pkcs1';
  oaepHash?: 'sha1' | 'sha256' | 'sha512';
  /** The key's EncryptionMethod. */
  keyMethod?: string;
  /** Where the EncryptedKey is, and its attributes. */
  place?: 'inside' | 'beside';
  keyAttributes?: string;
  /** Content of the KeyInfo in place of the key, if the key is beside it. */
  info?: string;
  /** More content of the EncryptedAssertion, and changes to the encrypted bytes of content and key. */
  more?: string;
  content?: (bytes: Buffer) => Buffer;
  key?: (bytes: Buffer) => Buffer;
  type?: string;
}

/** Encrypts as a provider does for a certificate's key (XML Encryption 1.1), with none of the code that decrypts it. */
export function encrypted(plain: string | Buffer, certificate: string, choices: Encrypting = {}): string {
  const {
    cipher = 'aes-256-gcm',
    padding = 'oaep',
    oaepHash = 'sha1',
    keyMethod = oaepMgf1p,
    place = 'inside',
  } = choices;
  const { keyAttributes = '', info = '', more = '', content = same, key = same, type = `${xenc}Element` } = choices;
  const algorithm = choices.algorithm ?? `${cipher.endsWith('gcm') ? xenc11 : xenc}${cipher.replace('-', '')}`;
  const contentKey = randomBytes(cipher.includes('256') ? 32 : 16);
  const padded = padding === 'oaep' ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING;
  const sealed = publicEncrypt({ key: certificate, padding: padded, oaepHash }, contentKey);
  const cipherData = (bytes: Buffer) =>
    `<xenc:CipherData><xenc:CipherValue>${bytes.toString('base64').replace(/.{76}/g, '$&\n')}</xenc:CipherValue></xenc:CipherData>`;
  const encryptedKey = `<xenc:EncryptedKey xmlns:xenc="${xenc}"${keyAttributes}>${keyMethod}${cipherData(key(sealed))}</xenc:EncryptedKey>`;
  const [inside, beside] = place === 'inside' ? [encryptedKey, ''] : [info, encryptedKey];
  const data = cipherData(content(encipher(cipher, contentKey, Buffer.from(plain))));
  return `<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><xenc:EncryptedData xmlns:xenc="${xenc}" Type="${type}"><xenc:EncryptionMethod Algorithm="${algorithm}"/><ds:KeyInfo xmlns:ds="${dsig}">${inside}</ds:KeyInfo>${data}</xenc:EncryptedData>${beside}${more}</saml:EncryptedAssertion>`;
}

const same = (bytes: Buffer) => bytes;

function encipher(name: NonNullable<Encrypting['cipher']>, key: Buffer, plain: Buffer): Buffer {
  if (name === 'aes-128-gcm' || name === 'aes-256-gcm') {
    const iv = randomBytes(12);
    const cipher = createCipheriv(name, key, iv);
    return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }
  const iv = randomBytes(16);
  const cipher = createCipheriv(name, key, iv);
  return Buffer.concat([iv, cipher.update(plain), cipher.final()]);
}
