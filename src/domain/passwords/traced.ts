import { activeTracing } from '../../platform/tracing/tracing.js';
import type { Passwords } from './passwords.js';

/**
 * Passwords with a span for each hash, including its wait for a turn, and for each question whether a password is known
 * from a breach.
 */
export function tracedPasswords(passwords: Passwords): Passwords {
  const tracing = activeTracing();
  if (!tracing) return passwords;
  return {
    ...passwords,
    hash: (password) => tracing.run({ name: 'hash password' }, () => passwords.hash(password)),
    verify: (hash, password, whose) =>
      tracing.run({ name: 'verify password' }, () => passwords.verify(hash, password, whose)),
    digest: (parameters, secret) => tracing.run({ name: 'hash code' }, () => passwords.digest(parameters, secret)),
    assertAcceptable: (password, rule) =>
      tracing.run({ name: 'check password' }, () => passwords.assertAcceptable(password, rule)),
  };
}
