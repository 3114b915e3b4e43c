import { certificatesIn } from '../../src/domain/sso-protocols/saml/certificates.js';

const pem = (inside: string) => `-----BEGIN CERTIFICATE-----\n${inside}\n-----END CERTIFICATE-----`;

test('the certificates of a text are those in base64, whatever surrounds them', () => {
  const text = `Subject: one\n${pem('MIIB+/=')}\n${pem('not: base64')}\n${pem('MIIC')}\n`;
  expect(certificatesIn(text)).toEqual([pem('MIIB+/='), pem('MIIC')]);
});
