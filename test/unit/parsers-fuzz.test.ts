import { randomUUID } from 'node:crypto';
import packet from 'dns-packet';
import fc from 'fast-check';
import { generateSync } from 'otplib';
import { parseApiKey } from '../../src/domain/api-keys/format.js';
import { readFeedCursor, writeFeedCursor } from '../../src/domain/changes/cursor.js';
import { DomainError } from '../../src/domain/errors.js';
import { compiledSchema } from '../../src/domain/hierarchy/metadata-schemas.js';
import { UnusableSchema } from '../../src/domain/hierarchy/unusable-schema.js';
import { importableApps } from '../../src/domain/mfa/imported-apps.js';
import { OAuthError } from '../../src/domain/oidc/oauth-error.js';
import { parseAuthorizeRequest } from '../../src/domain/oidc/requests/authorize-request.js';
import { readParameters } from '../../src/domain/oidc/requests/parameters.js';
import { importable } from '../../src/domain/passwords/importable.js';
import { parseFilter } from '../../src/domain/scim/filters/syntax.js';
import { userKind } from '../../src/domain/scim/kinds.js';
import { readPatch } from '../../src/domain/scim/patch.js';
import { ScimRefused } from '../../src/domain/scim/refusal.js';
import { readResource } from '../../src/domain/scim/values.js';
import { readCertificates } from '../../src/domain/sso-connections/certificates.js';
import { SsoRefused } from '../../src/domain/sso-protocols/assertion.js';
import { assertionOf } from '../../src/domain/sso-protocols/oidc/claims.js';
import { MetadataRefused, parseMetadata } from '../../src/domain/sso-protocols/saml/provider-metadata.js';
import { deviceName } from '../../src/http/oauth/account/device-name.js';
import { chooseLocale } from '../../src/http/pages/locale.js';
import { subscriberOf } from '../../src/platform/database/subscriber.js';
import { readAnswer } from '../../src/platform/dns/answers.js';
import { decoded } from '../../src/platform/dns/exchange.js';
import { isCallable } from '../../src/platform/outbound/addresses.js';
import { encrypted } from '../support/saml/encryption.js';
import { assertionXml, newProviderKey, responseXml, sign } from '../support/saml/provider.js';
import { newSamlReceiver } from '../support/saml/receiver.js';

/** Errors by which a parser refuses a text; any other error is a fault of the parser. */
const refusals = [DomainError, MetadataRefused, OAuthError, ScimRefused, SsoRefused, UnusableSchema];
const isRefusal = (error: unknown) => refusals.some((kind) => error instanceof kind);
const times = { numRuns: 300 };

/** Generates valid texts with a few places cut, doubled, repeated many times or replaced by something odd. */
const bent = (rights: readonly string[]) =>
  fc
    .tuple(
      fc.constantFrom(...rights),
      fc.array(
        fc.tuple(
          fc.double({ min: 0, max: 1, noNaN: true }),
          fc.nat({ max: 12 }),
          fc.oneof(
            fc.string({ unit: 'binary', maxLength: 6 }),
            fc.constantFrom(
              '',
              '\u0000',
              '\ud800',
              '"',
              '\\',
              '<',
              '&',
              '%',
              ']]>',
              '(((',
              '..',
              '-1',
              '1e400',
              '$'.repeat(5),
            ),
          ),
          fc.constantFrom(0, 1, 2, 400),
        ),
        { minLength: 1, maxLength: 4 },
      ),
    )
    .map(([right, changes]) =>
      changes.reduce((text, [where, length, odd, repeats]) => {
        const at = Math.floor(where * text.length);
        const kept = text.slice(at, at + length).repeat(repeats);
        return text.slice(0, at) + kept + odd + text.slice(at + length);
      }, right),
    );

async function neverFails(rights: readonly string[], read: (text: string) => unknown) {
  const isRead = async (text: string) => {
    try {
      await read(text);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  };
  for (const right of rights) expect(() => read(right)).not.toThrow(); // otherwise what is near them would teach nothing
  await fc.assert(fc.asyncProperty(fc.oneof(bent(rights), fc.string({ unit: 'binary' })), isRead), times);
}

const environmentId = randomUUID();
const client = {
  clientType: 'public',
  redirectUris: ['https://app.example/cb'],
  scopes: [],
  consentRequired: false,
  requirePkce: true,
} as const;
const asked =
  'client_id=a&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&response_type=code&scope=openid&max_age=5&prompt=login&claims=%7B%22id_token%22%3A%7B%7D%7D&acr_values=x&code_challenge=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA&code_challenge_method=S256';
const json = (read: (body: never) => unknown) => (text: string) => {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return; // the reader of the body refuses that
  }
  read(body as never);
};

/** [what, valid texts, parser] */
const parsers: [string, string[], (text: string) => unknown][] = [
  ['a key of the API', ['ghk_live_0123456789ABCDEFG_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg000000'], parseApiKey],
  [
    'a cursor of the change feed',
    [writeFeedCursor(environmentId, { transactionId: 7n, eventId: randomUUID() })],
    (text) => readFeedCursor(environmentId, text),
  ],
  [
    'a filter of SCIM',
    ['emails[type eq "work" and not (value co "@x")] or userName sw "a" and meta.created gt "2026-01-01T00:00:00Z"'],
    parseFilter,
  ],
  [
    'a resource of SCIM',
    [
      '{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"a","emails":[{"value":"a@x.example","primary":true}],"name":{"givenName":"A"}}',
    ],
    json((body) => readResource(userKind, body)),
  ],
  [
    'a PATCH of SCIM',
    [
      '{"Operations":[{"op":"replace","path":"emails[type eq \\"work\\"].value","value":"a@x.example"},{"op":"add","value":{"active":false}}]}',
    ],
    json((body) => readPatch(userKind, body)),
  ],
  [
    'an imported hash',
    [
      '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
      '$2b$10$abcdefghijklmnopqrstuuYQ8wYwQ6lLQ3bq0q7l6xWgKfPXv5n6e',
    ],
    (text) => importable(text, 'password_hash'),
  ],
  [
    'the secret of an imported authenticator app',
    ['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 'GEZDGNBVGY3TQOJQGEZDGNBVGY======'],
    // What is accepted must not fail at a sign-in either.
    (text) => {
      const app = { secret: text, algorithm: 'SHA1', digits: 6, period: 30, label: text } as const;
      for (const { secret } of importableApps({ seal: (plain) => plain }, [app], 'mfa_factors')) {
        generateSync({ secret: secret as string });
      }
    },
  ],
  [
    'a schema of metadata',
    ['{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}},"required":["a"]}'],
    json(compiledSchema),
  ],
  [
    'an authorization request',
    [asked],
    (text) => parseAuthorizeRequest(readParameters(Object.fromEntries(new URLSearchParams(text))), client),
  ],
  [
    'the claims of a provider',
    ['{"iss":"https://idp.example","sub":"a","email":"a@x.example","amr":["pwd"],"auth_time":1,"groups":["a"]}'],
    json((body) => assertionOf(body ?? {}, { attributeMapping: { email: 'email' } }, 'token')),
  ],
  [
    'a browser’s name',
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36'],
    deviceName,
  ],
  [
    'the languages of a browser',
    ['de-AT;q=0.9, en-x-a;q=1, *;q=0.1'],
    (acceptLanguage) => chooseLocale({ acceptLanguage, uiLocales: acceptLanguage }),
  ],
  [
    'a network address',
    ['2001:db8::1%eth0', '::ffff:203.0.113.7', '203.0.113.7'],
    (text) => [subscriberOf(text), isCallable(text)],
  ],
];
test.each(parsers)('%s is read or refused, whatever it contains', async (_, rights, read) => neverFails(rights, read));

test('a DNS answer is read or refused, whatever it contains', () => {
  const right = packet.encode({
    type: 'response',
    answers: [
      { name: '_gatehouse.acme.example', type: 'CNAME', data: 'x.acme.example' },
      { name: 'x.acme.example', type: 'TXT', data: ['gatehouse=', 'abc'] },
    ],
    authorities: [{ name: 'acme.example', type: 'NS', data: 'ns.acme.example' }],
  });
  const bentBytes = fc
    .array(fc.tuple(fc.nat({ max: right.length - 1 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 6 })
    .map((changes) => {
      const bytes = Buffer.from(right);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
  const cut = fc.nat({ max: right.length }).map((length) => right.subarray(0, length));
  fc.assert(
    fc.property(fc.oneof(bentBytes, cut, fc.uint8Array().map(Buffer.from)), fc.boolean(), (bytes, isServer) => {
      const answer = decoded(Buffer.from(bytes));
      if (answer) readAnswer(answer, '_gatehouse.acme.example', isServer ? 'example' : null);
    }),
    { numRuns: 2_000 },
  );
});

test('a provider’s certificate, metadata and signed answers are read or refused, whatever they contain', async () => {
  const [{ certificate }, receiver] = await Promise.all([newProviderKey(), newSamlReceiver()]);
  const now = new Date('2026-11-22T10:00:00.000Z');
  await neverFails([certificate], (text) => readCertificates(text, now));
  const bare = certificate.replace(/-----[A-Z ]+-----|\s/g, '');
  const metadata = `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example"><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${bare}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>`;
  await neverFails([metadata], (text) => parseMetadata(text, now));
  const parts = receiver.parts();
  const answer = responseXml(parts, sign(assertionXml(parts), 'Assertion', receiver.key));
  await receiver.verify(Buffer.from(answer).toString('base64'));
  const refused = fc.asyncProperty(bent([answer]), async (text) => {
    const verified = await receiver.verify(Buffer.from(text).toString('base64')).catch((error: unknown) => error);
    // What is accepted is what the provider has signed, whatever was changed around it.
    if (isRefusal(verified)) return;
    expect(verified).toMatchObject({ subject: parts.nameId });
  });
  await fc.assert(refused, { numRuns: 150 });
});

test('an encrypted answer is read or refused, whatever was changed before or after its encryption', async () => {
  const receiver = await newSamlReceiver();
  const parts = receiver.parts();
  const assertion = sign(assertionXml(parts), 'Assertion', receiver.key);
  const around = (plain: string) => responseXml(parts, encrypted(plain, receiver.ours.certificate));
  const verify = (text: string) => receiver.verify(Buffer.from(text).toString('base64'));
  await verify(around(assertion));
  const isReadOrRefused = async (text: string) => {
    const verified = await verify(text).catch((error: unknown) => error);
    if (isRefusal(verified)) return;
    expect(verified).toMatchObject({ subject: parts.nameId });
  };
  await fc.assert(
    fc.asyncProperty(bent([assertion]), (plain) => isReadOrRefused(around(plain))),
    { numRuns: 100 },
  );
  await fc.assert(fc.asyncProperty(bent([around(assertion)]), isReadOrRefused), { numRuns: 150 });
});
