import { toALabels } from '../../src/domain/addresses/a-labels.js';
import { addressTyped, inALabels } from '../../src/domain/logins/address.js';
import { domainOfAddress } from '../../src/domain/sso-connections/covering.js';
import { typedEmail } from '../../src/http/oauth/typed-email.js';

const typed = (email: string) => typedEmail(new URLSearchParams({ email }) as never);

test('a domain is looked up in A-labels, however it was typed', () => {
  expect(typed(' ana@b\u00fccher.example ')).toBe('ana@xn--bcher-kva.example');
  expect(typed('ana@bu\u0308cher.example')).toBe('ana@xn--bcher-kva.example');
  expect(inALabels('ana@\uff41cme.example')).toBe('ana@acme.example');
  expect(typed('')).toBe('');
  expect(domainOfAddress('ana@B\u00fccher.example')).toBe('xn--bcher-kva.example');
  expect(domainOfAddress('Ana@ACME.example')).toBe('acme.example');
  expect(domainOfAddress('acme.example')).toBeNull();
});

test('a domain beyond the maximum length is not converted: that takes time by the square of its length, and blocks the process', () => {
  const endless = `${'\u6f22'.repeat(330_000)}.example`;
  expect(toALabels(endless)).toBeNull();
  expect(inALabels(`ana@${endless}`)).toHaveLength(endless.length + 4);
  expect(typed(`ana@${endless}`)).toBe(`ana@${endless}`);
  expect(addressTyped(`ana@${endless}`)).toBe('');
  expect(domainOfAddress(`ana@${endless}`)).toBeNull();
});
