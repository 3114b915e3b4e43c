import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { type CborValue, cbor } from './cbor.js';

/** What an authenticator is like; each test sets what it is about. */
export interface AuthenticatorOptions {
  /** The origin of the page in the browser, and the relying party that the browser would name. */
  origin: string;
  /** Whether it verifies its user, by a PIN or a fingerprint. */
  verifiesUser?: boolean;
  /** Whether it is a passkey that its maker syncs, rather than a key that never leaves its chip. */
  isSynced?: boolean;
  /** Whether it has a signature counter; synced passkeys cannot. */
  counts?: boolean;
  /** Whether it stores keys that it lists by itself; null if the browser does not say. */
  isDiscoverable?: boolean | null;
  algorithm?: 'ES256' | 'EdDSA' | 'RS256';
}

/** What is wrong in an answer. */
export interface Flaws {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  crossOrigin?: boolean;
  /** The origin of the page that embeds this page in a frame. */
  topOrigin?: string;
  userHandle?: string | null;
  userPresent?: boolean;
  userVerified?: boolean;
  counter?: number;
  /** Whether it claims that it can be backed up. */
  synced?: boolean;
  /** Flips a bit of the signature. */
  tampered?: boolean;
  /** Gives the new credential the id of another one. */
  credentialId?: Buffer;
  /** A COSE public key in place of the new one's. */
  publicKey?: Buffer;
  /** An attestation statement that the service did not ask for. */
  statement?: { fmt: string; attStmt: Map<string, CborValue> };
}

interface Credential {
  id: Buffer;
  privateKey: KeyObject;
  cose: Buffer;
  userHandle: string;
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const ATTESTED = 0x40;

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** Simulates an authenticator and its browser: real keys, real signatures, and any flaw that a test asks for. */
export function createAuthenticator({
  origin,
  verifiesUser = true,
  isSynced = false,
  counts = !isSynced,
  isDiscoverable = isSynced,
  algorithm = 'ES256',
}: AuthenticatorOptions) {
  const credentials: Credential[] = [];
  let uses = 0;

  const clientData = (type: string, challenge: string, flaws: Flaws) =>
    Buffer.from(
      JSON.stringify({
        type: flaws.type ?? type,
        challenge: flaws.challenge ?? challenge,
        origin: flaws.origin ?? origin,
        crossOrigin: flaws.crossOrigin ?? false,
        topOrigin: flaws.topOrigin,
      }),
    );

  function authenticatorData(rpId: string, flaws: Flaws, attested: Buffer | null = null) {
    const flags =
      ((flaws.userPresent ?? true) ? PRESENT : 0) |
      ((flaws.userVerified ?? verifiesUser) ? VERIFIED : 0) |
      ((flaws.synced ?? isSynced) ? BACKUP_ELIGIBLE | BACKED_UP : 0) |
      (attested ? ATTESTED : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(flaws.counter ?? (counts ? ++uses : 0));
    return Buffer.concat([sha256(flaws.rpId ?? rpId), Buffer.from([flags]), counter, ...(attested ? [attested] : [])]);
  }

  return {
    credentials,

    /** Returns the JSON of `navigator.credentials.create`. */
    create(options: PublicKeyCredentialCreationOptionsJSON, flaws: Flaws = {}): RegistrationResponseJSON {
      const { privateKey, cose } = newKey(algorithm);
      const id = flaws.credentialId ?? randomBytes(32);
      credentials.push({ id, privateKey, cose, userHandle: options.user.id });
      const length = Buffer.from([id.length >> 8, id.length & 0xff]);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, flaws.publicKey ?? cose]);
      const attestation = new Map<string, CborValue>([
        ['fmt', flaws.statement?.fmt ?? 'none'],
        ['attStmt', flaws.statement?.attStmt ?? new Map()],
        ['authData', authenticatorData(options.rp.id as string, flaws, attested)],
      ]);
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: clientData('webauthn.create', options.challenge, flaws).toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: isSynced ? ['hybrid', 'internal'] : ['usb'],
        },
        clientExtensionResults: isDiscoverable === null ? {} : { credProps: { rk: isDiscoverable } },
      };
    },

    /** Returns the JSON of `navigator.credentials.get`, by an allowed key, or the newest one if any key is allowed. */
    get(options: PublicKeyCredentialRequestOptionsJSON, flaws: Flaws = {}): AuthenticationResponseJSON {
      const allowed = options.allowCredentials?.map(({ id }) => id) ?? [];
      const used = credentials.findLast(({ id }) => allowed.length === 0 || allowed.includes(id.toString('base64url')));
      if (!used) throw new Error('the authenticator has none of the keys that are allowed');
      const authData = authenticatorData(options.rpId as string, flaws);
      const client = clientData('webauthn.get', options.challenge, flaws);
      const signature = signedBy(used.privateKey, Buffer.concat([authData, sha256(client)]));
      if (flaws.tampered) signature[signature.length - 1] = (signature.at(-1) as number) ^ 1;
      const userHandle = flaws.userHandle === undefined ? used.userHandle : flaws.userHandle;
      return {
        id: used.id.toString('base64url'),
        rawId: used.id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: signature.toString('base64url'),
          ...(userHandle !== null && { userHandle }),
        },
        clientExtensionResults: {},
      };
    },
  };
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

const signedBy = (key: KeyObject, data: Buffer) =>
  sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', data, key);

/** Generates a key pair; the public key is in COSE (RFC 9053 §7, RFC 8230 §4). */
function newKey(algorithm: NonNullable<AuthenticatorOptions['algorithm']>): { privateKey: KeyObject; cose: Buffer } {
  const { privateKey, publicKey } = {
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: () => generateKeyPairSync('ed25519'),
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  }[algorithm]();
  const jwk = publicKey.export({ format: 'jwk' });
  const part = (name: 'x' | 'y' | 'n' | 'e') => Buffer.from(jwk[name] as string, 'base64url');
  const entries: Record<typeof algorithm, () => [number, CborValue][]> = {
    ES256: () => [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, part('x')],
      [-3, part('y')],
    ],
    EdDSA: () => [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, part('x')],
    ],
    RS256: () => [
      [1, 3],
      [3, -257],
      [-1, part('n')],
      [-2, part('e')],
    ],
  };
  return { privateKey, cose: cbor(new Map(entries[algorithm]())) };
}
