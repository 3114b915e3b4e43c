import { isOutage } from '../../src/platform/outages.js';

const coded = (code: string) => Object.assign(new Error('no'), { code });

test.each([
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ECONNABORTED', '25P04', '57P05'],
  ...['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'EPROTO', 'EMFILE'],
  ...['57P01', '53300', '25006', 'ECONNREFUSED', '28P01', '28000', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
])('%s: PostgreSQL cannot serve for now', (code) => expect(isOutage(coded(code))).toBe(true));

test.each(['3D000', '55000', '42501'])('%s at a connection is away, in a statement it is not', (code) => {
  expect(isOutage(Object.assign(coded(code), { severity: 'FATAL' }))).toBe(true);
  expect(isOutage(Object.assign(coded(code), { severity: 'ERROR' }))).toBe(false);
});

test.each(['23505', '22P02', '42P01', 'ERR_INVALID_ARG_TYPE', ''])('%s is no outage', (code) =>
  expect(isOutage(coded(code))).toBe(false),
);
