import fc from 'fast-check';
import { readAuthenticationResponse, readRegistrationResponse } from '../../src/domain/mfa/webauthn/responses.js';
import { createAuthenticator } from '../support/authenticator.js';

const origin = 'https://id.example.com';
const challenge = Buffer.alloc(32, 5).toString('base64url');
const key = createAuthenticator({ origin });
const creation = {
  rp: { id: 'id.example.com', name: 'Acme' },
  user: { id: 'AAAA', name: 'ana', displayName: 'Ana' },
  challenge,
  pubKeyCredParams: [],
};
const request = { rpId: 'id.example.com', challenge };
const made = key.create(creation);
const used = key.get(request);

test('an authenticator’s response is read, and nothing else of it kept', () => {
  const { id, response } = used;
  expect(readAuthenticationResponse({ ...used, authenticatorAttachment: 'platform', extra: 1 })).toEqual({
    id,
    rawId: id,
    type: 'public-key',
    response,
    clientExtensionResults: {},
  });
  expect(readRegistrationResponse(made)).toMatchObject({ transports: ['usb'], isDiscoverable: false });
  expect(readRegistrationResponse({ ...made, clientExtensionResults: undefined })?.isDiscoverable).toBeNull();
  expect(
    readRegistrationResponse({ ...made, clientExtensionResults: { credProps: { rk: 'yes' } } })?.isDiscoverable,
  ).toBeNull();
});

test.each([
  ['missing', undefined],
  ['null', null],
  ['a text instead of a list', 'usb'],
  ['an object', { 0: 'usb', length: 1 }],
  ['a list of numbers, upper case and markup', [7, 'NFC', '<script>', null]],
])('a new authenticator whose transports are %s is accepted without a hint', (_, transports) => {
  const read = readRegistrationResponse({ ...made, response: { ...made.response, transports } });
  expect(read).toMatchObject({ transports: [], isDiscoverable: false });
});

test.each([{ crossOrigin: true }, { topOrigin: 'https://evil.example' }])(
  'a response from a frame of another site is refused: %j',
  (framed) => {
    expect(readAuthenticationResponse(key.get(request, framed))).toBeNull();
    expect(readRegistrationResponse(key.create(creation, framed))).toBeNull();
  },
);

test('no input throws', () => {
  fc.assert(
    fc.property(fc.anything(), (sent) => {
      expect(readAuthenticationResponse(sent)).toBeNull();
      expect(readRegistrationResponse(sent)).toBeNull();
    }),
  );
});

test('no field with a value of another kind throws', () => {
  const values = fc.oneof(
    fc.anything(),
    fc.base64String().map((text) => text.replace(/[=+/]/g, '')),
  );
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(used.response)), values, (name, value) => {
      readAuthenticationResponse({ ...used, response: { ...used.response, [name]: value } });
    }),
  );
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(made.response)), values, (name, value) => {
      readRegistrationResponse({ ...made, response: { ...made.response, [name]: value } });
    }),
  );
});

test('an attestation with any byte changed is refused, or read as one without a statement', () => {
  const bytes = Buffer.from(made.response.attestationObject, 'base64url');
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ flip;
      const response = { ...made.response, attestationObject: changed.toString('base64url') };
      const read = readRegistrationResponse({ ...made, response });
      if (!read) return;
      const object = Buffer.from(read.response.response.attestationObject, 'base64url').toString('latin1');
      expect(object.slice(0, 24)).toContain('cfmtdnone');
    }),
    { numRuns: 500 },
  );
});
