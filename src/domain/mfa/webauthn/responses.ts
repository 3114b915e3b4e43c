import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { decodeAttestationObject, decodeClientDataJSON, isoBase64URL, isoCBOR } from '@simplewebauthn/server/helpers';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';

/** Base64url without padding, of so many bytes at most. */
const bytes = (max: number) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: Math.ceil((max * 4) / 3), minLength: 1 });
/** WebAuthn Level 3 §4: a credential id has 1023 bytes at most, a user handle 64. */
const credentialId = bytes(1023);

const credential = <Response extends TSchema>(response: Response) =>
  Type.Object({ id: credentialId, rawId: credentialId, type: Type.Literal('public-key'), response });

const Assertion = credential(
  Type.Object({
    clientDataJSON: bytes(8_192),
    authenticatorData: bytes(4_096),
    signature: bytes(4_096),
    userHandle: Type.Optional(Type.Union([bytes(64), Type.Null()])),
  }),
);
const Attestation = credential(
  Type.Object({
    clientDataJSON: bytes(8_192),
    attestationObject: bytes(32_768),
    transports: Type.Optional(Type.Unknown()),
  }),
);

/**
 * The answer to `navigator.credentials.get`, as JSON, or null for anything else; short, so that its parser cannot be
 * attacked by length.
 */
export function readAuthenticationResponse(sent: unknown): AuthenticationResponseJSON | null {
  const read = conforming(Assertion, sent);
  if (!read || isFramed(read.response.clientDataJSON)) return null;
  const { id, rawId, type, response } = read;
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  return {
    id,
    rawId,
    type,
    response: { clientDataJSON, authenticatorData, signature, userHandle: userHandle ?? undefined },
    clientExtensionResults: {},
  };
}

export interface ReadAttestation {
  response: RegistrationResponseJSON;
  transports: string[];
  /** What the browser says of `credProps.rk`; it is not signed. */
  isDiscoverable: boolean | null;
}

/** What `PublicKeyCredential.toJSON` said after `create`, or null. */
export function readRegistrationResponse(sent: unknown): ReadAttestation | null {
  const read = conforming(Attestation, sent);
  if (!read || isFramed(read.response.clientDataJSON)) return null;
  const { id, rawId, type, response } = read;
  const attestationObject = withoutStatement(response.attestationObject);
  if (attestationObject === null) return null;
  const transports = transportsIn(response.transports);
  const rk = (sent as { clientExtensionResults?: { credProps?: { rk?: unknown } } }).clientExtensionResults?.credProps
    ?.rk;
  return {
    response: {
      id,
      rawId,
      type,
      response: { clientDataJSON: response.clientDataJSON, attestationObject, transports },
      clientExtensionResults: {},
    },
    transports,
    isDiscoverable: typeof rk === 'boolean' ? rk : null,
  };
}

const conforming = <Schema extends TSchema>(schema: Schema, sent: unknown): Static<Schema> | null =>
  Value.Check(schema, sent) ? (sent as Static<Schema>) : null;

/** Whether another site had our page in a frame, which our pages forbid (WebAuthn Level 3 §7.1 step 10, §7.2 step 14). */
function isFramed(clientDataJSON: string): boolean {
  try {
    const { crossOrigin, topOrigin } = decodeClientDataJSON(clientDataJSON);
    return crossOrigin === true || topOrigin !== undefined;
  } catch {
    return true;
  }
}

/**
 * We ask for no attestation and trust none, so a statement that comes all the same is left out: checking its certificates
 * would fetch revocation lists from wherever they say.
 */
function withoutStatement(attestationObject: string): string | null {
  try {
    const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData');
    const none = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    return isoBase64URL.fromBuffer(isoCBOR.encode(none as never));
  } catch {
    return null;
  }
}

/** Names of transports, known or not, that are kept as hints for the next sign-in. */
const transportsIn = (sent: unknown): string[] =>
  Array.isArray(sent)
    ? [...new Set(sent.filter((one): one is string => typeof one === 'string' && /^[a-z-]{1,20}$/.test(one)))].slice(
        0,
        8,
      )
    : [];
