import { isOfContext } from '../../src/domain/passwords/context.js';
import { createPasswords } from '../../src/domain/passwords/passwords.js';

const context = [
  'anna.miller@example.com',
  'Anna',
  'Müller',
  'Wolkenkuckucksheim GmbH',
  'Acme Portal',
  null,
  undefined,
];

test.each([
  'gatehouse',
  'Gatehouse-2026!!!',
  'g4teh0use123', // digits for letters that look like them
  'gate gatehouse', // and the rest is a part of one
  'annamiller',
  'anna.miller@example.com',
  'ANNA.MILLER.1985',
  'MullerAnna1', // without its accent
  'Mu\u0308ller!acme?',
  'acmeportal20261122',
  'Acm3 P0rt@l #1',
  'acme...........',
  'annaaaaaaaaaaaaaaaa',
  'wolkenkuckucksheim',
  'example-com-2026',
  'kkkkkkkkkkkkanna',
])('%j is refused as little more than words of its context', (password) => {
  expect(isOfContext(password, context)).toBe(true);
});

test.each([
  'anna likes to eat cake', // a passphrase that happens to contain a name
  'acme-hk7w9q2x', // a password of its own after a word
  'violet tractor 19',
  'correct horse battery staple',
  'comfortable', // no word is as short as `com`
  '12345678', // another rule refuses this
  '🐈🐕🐎🐄🐖🐑🐐🐪',
])('%j is not refused as words of its context', (password) => {
  expect(isOfContext(password, context)).toBe(false);
});

test('words have at least four letters, alone or as a whole', () => {
  expect(isOfContext('ana-2026-ana', ['Ana'])).toBe(false);
  expect(isOfContext('liwei-2026', ['Li Wei'])).toBe(true);
  expect(isOfContext('liwei-2026', ['Li', 'Wei'])).toBe(false);
  expect(isOfContext('x7.k2-2026', ['x7.k2@example.com'])).toBe(true);
});

test('removing a word creates no new one where its neighbours meet', () => {
  expect(isOfContext('gateacmehouse-blue sky', ['acme'])).toBe(false);
});

test('the refusal has its code, and queries nothing else', async () => {
  const passwords = createPasswords({ breachUrl: 'http://127.0.0.1:1/', onOutage: (error) => fail(error) });
  const choice = passwords.assertAcceptable('Acme Portal 2026', { minLength: 8, field: 'password', context });
  await expect(choice).rejects.toMatchObject({ code: 'password.context_specific', options: {} });
});

const fail = (error: Error) => {
  throw error;
};
