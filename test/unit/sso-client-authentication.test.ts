import { authenticationBy } from '../../src/domain/sso-protocols/oidc/client-authentication.js';

/** Returns what is sent to a provider that supports these methods. */
function sentTo(methods: string[], secret: string | null, clientId = 'gate-house') {
  const [body, headers] = [new URLSearchParams(), new Headers()];
  const authenticate = authenticationBy(secret, { token_endpoint_auth_methods_supported: methods });
  authenticate({ issuer: 'https://idp.example' }, { client_id: clientId }, body, headers);
  const basic = headers.get('authorization')?.replace(/^Basic /, '') ?? '';
  return { header: Buffer.from(basic, 'base64').toString(), body: Object.fromEntries(body) };
}

test('a secret is sent in the header, or else in the body, as the provider supports', () => {
  expect(sentTo(['client_secret_post', 'client_secret_basic'], 'secret').header).toBe('gate-house:secret');
  const body = { client_id: 'gate-house', client_secret: 'secret' };
  expect(sentTo(['client_secret_post'], 'secret')).toEqual({ header: '', body });
  expect(sentTo([], null)).toEqual({ header: '', body: { client_id: 'gate-house' } });
  expect(() => sentTo(['private_key_jwt'], 'secret')).toThrow('does not accept client secrets');
});

test('what need not be escaped in the header is not: some providers do not unescape it', () => {
  expect(sentTo(['client_secret_basic'], 'a-b_c.d~e').header).toBe('gate-house:a-b_c.d~e');
});

test('what has to be escaped is, so that it is read unchanged', () => {
  const secret = 'a:b+c d%e/ü&=';
  const [id = '', password = ''] = sentTo(['client_secret_basic'], secret, 'https://id:1').header.split(':');
  const read = (text: string) => new URLSearchParams(`x=${text}`).get('x');
  expect([read(id), read(password)]).toEqual(['https://id:1', secret]);
});
