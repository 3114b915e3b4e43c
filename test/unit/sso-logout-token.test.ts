import { createLocalJWKSet, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { verifyLogoutToken } from '../../src/domain/sso-protocols/oidc/logout-token.js';

const now = new Date('2026-11-22T10:00:00.000Z');
const at = Math.floor(now.getTime() / 1000);
const event = 'http://schemas.openid.net/event/backchannel-logout';
const issuer = 'https://idp.example';
const pairs = Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);

async function keys() {
  const [{ publicKey }] = await pairs;
  return createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] });
}
const right = {
  iss: issuer,
  aud: 'us',
  iat: at,
  exp: at + 120,
  jti: 'j',
  sub: 'ana',
  sid: 's',
  events: { [event]: {} },
};

/** Returns a logout token that differs from a valid one; `undefined` leaves a claim out. */
async function signed(changes: JWTPayload = {}, header: object = {}, by: 0 | 1 = 0): Promise<string> {
  const payload = JSON.parse(JSON.stringify({ ...right, ...changes }));
  const { privateKey } = (await pairs)[by];
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'logout+jwt', ...header })
    .sign(privateKey);
}
const read = async (token: string, algorithms = ['RS256', 'ES256']) =>
  verifyLogoutToken(token, { issuer, clientId: 'us', now, algorithms, keys: await keys() });
const codeOf = async (token: string | Promise<string>, algorithms?: string[]) =>
  read(await token, algorithms).then(
    () => null,
    ({ code }) => code,
  );

test('a logout token says whose session has ended, and until when it could be repeated', async () => {
  const until = new Date((at + 180) * 1000);
  expect(await read(await signed())).toEqual({
    subject: 'ana',
    sessionId: 's',
    once: { id: '["j","ana","s"]', until },
  });
  expect(await read(await signed({ sid: undefined, aud: ['them', 'us'] }))).toMatchObject({ sessionId: null });
  expect(await read(await signed({ sub: undefined }))).toMatchObject({ subject: null, sessionId: 's' });
  const longest = { sub: 'x'.repeat(255), sid: 'y'.repeat(1024), jti: 'z'.repeat(1024) };
  expect(await read(await signed(longest))).toMatchObject({ subject: longest.sub, sessionId: longest.sid });
});

test('a logout token may be without exp, as in the first edition, and is remembered for at most an hour', async () => {
  const untilOf = async (changes: JWTPayload) => (await read(await signed(changes))).once.until.getTime() / 1000 - at;
  expect(await untilOf({ exp: undefined })).toBe(360);
  expect(await untilOf({ exp: at + 10 ** 9 })).toBe(3660);
  expect(await codeOf(signed({ exp: undefined, iat: at - 361 }))).toBe('expired');
  expect(await codeOf(signed({ exp: at + 10 ** 9, iat: at - 3700 }))).toBe('expired');
});

test.each<[string, JWTPayload, string]>([
  ['of another provider', { iss: 'https://evil.example' }, 'issuer_mismatch'],
  ['without an issuer', { iss: undefined }, 'issuer_mismatch'],
  ['for another client', { aud: 'them' }, 'audience_mismatch'],
  ['without an audience', { aud: undefined }, 'audience_mismatch'],
  ['that has expired', { exp: at - 61 }, 'expired'],
  ['from the future', { iat: at + 61 }, 'not_yet_valid'],
  ['without the time when it was issued', { iat: undefined }, 'not_yet_valid'],
  ['without a jti', { jti: undefined }, 'malformed'],
  ['that is an ID token, as it has no events', { events: undefined }, 'malformed'],
  ['of another event', { events: { 'https://schemas.openid.net/secevent/risc/x': {} } }, 'malformed'],
  ['whose event is no object', { events: { [event]: true } }, 'malformed'],
  ['whose events are a list', { events: [event] }, 'malformed'],
  ['with a nonce', { nonce: 'n' }, 'malformed'],
  ['without sub and sid', { sub: undefined, sid: undefined }, 'subject_missing'],
  ['whose sid is a number', { sid: 1 }, 'malformed'],
  ['with an empty sub', { sub: '' }, 'malformed'],
  ['with a sub that is too long', { sub: 'x'.repeat(256) }, 'malformed'],
  ['with a sid that is too long', { sid: 'x'.repeat(1025) }, 'malformed'],
  ['with a jti that is too long', { jti: 'x'.repeat(1025) }, 'malformed'],
  ['with a character that PostgreSQL cannot store', { sub: 'a\u0000' }, 'malformed'],
])('a logout token %s is refused', async (_, changes, code) => {
  expect(await codeOf(signed(changes))).toBe(code);
});

test('a logout token is refused if it is unsigned, signed by another, by another algorithm than the provider names, or encrypted', async () => {
  expect(await codeOf(signed({}, {}, 1))).toBe('signature_invalid');
  expect(await codeOf(signed({}, { kid: 'two' }))).toBe('signature_invalid');
  expect(await codeOf(signed(), ['ES256'])).toBe('algorithm_refused');
  const [, payload] = (await signed()).split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
  expect(await codeOf(`${none}.${payload}.`)).toBe('algorithm_refused');
  expect(await codeOf('a.b.c.d.e')).toBe('encryption_unsupported');
  for (const text of ['', 'x', '..', 'a.b', '\u0000']) expect(await codeOf(text)).toBe('malformed');
});

test('an error in getting the keys is no refusal of the token', async () => {
  const error = new Error('not now');
  const keys = async () => Promise.reject(error);
  const reading = verifyLogoutToken(await signed(), { issuer, clientId: 'us', now, algorithms: ['RS256'], keys });
  await expect(reading).rejects.toBe(error);
});

test('a refused token says what is wrong with it', async () => {
  const messageOf = async (token: string) =>
    read(token).then(
      () => null,
      ({ message }) => message,
    );
  expect(await messageOf('x.y.z')).toBe('The logout token does not conform to OpenID Connect');
  expect(await messageOf(await signed({}, {}, 1))).toBe('The logout token is not signed with a key of the provider');
  expect(await messageOf(await signed({ nonce: 'n' }))).toBe('The logout token has a nonce');
});
