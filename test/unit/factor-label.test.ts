import { factorLabel } from '../../src/domain/mfa/factor-label.js';
import { shownFactor } from '../../src/http/oauth/account/factor-name.js';
import { labelIn } from '../../src/http/oauth/account/factors/add.js';

test.each([
  ['what was typed, without blanks around it', ' My phone ', 'My phone'],
  ['a blank for each control character', 'My\tphone\u0000', 'My phone'],
  ['a hundred characters, and no blank at their end', `${'a'.repeat(99)} b`, 'a'.repeat(99)],
  ['characters outside the basic plane whole', '\u{1f511}'.repeat(101), '\u{1f511}'.repeat(100)],
])("a factor's label is %s, whether a form sends it or not", (_, typed, label) => {
  expect(factorLabel(typed)).toBe(label);
  expect(labelIn({ form: new Map([['label', typed]]) as unknown as Parameters<typeof labelIn>[0]['form'] })).toBe(
    label,
  );
});

test('a name without anything visible counts as none', () => {
  expect(factorLabel(' \t')).toBeNull();
});

test.each(['constructor', 'toString', '__proto__'])(
  'a factor that a person has named %s is shown by that name',
  (label) => {
    const factor = { id: 'f', type: 'totp', label, signsIn: false, enrolledAt: new Date(0), lastUsedAt: null } as const;
    expect(shownFactor(factor)).toMatchObject({ name: 'factor.totp', label });
  },
);

test('a factor without a name has no label of its own, and is named in the reader’s language', () => {
  const factor = {
    id: 'f',
    type: 'webauthn',
    label: 'Security key',
    signsIn: true,
    enrolledAt: new Date(0),
    lastUsedAt: null,
  } as const;
  expect(shownFactor(factor)).toMatchObject({ name: 'factor.security_key', label: null });
});
