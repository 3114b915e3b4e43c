import { argon2 } from '../src/domain/passwords/argon2.js';

/**
 * Loaded into an api process before its own modules: computes argon2 once for each password, salt and profile, and
 * remembers it, to measure sign-ins without hashing. This is never part of the service.
 */
const { hash } = argon2;
const digests = new Map<string, ReturnType<typeof hash>>();

argon2.hash = ((password: string, options: Parameters<typeof hash>[1] & { salt: Buffer }) => {
  const key = JSON.stringify([password, { ...options, salt: options.salt.toString('base64') }]);
  const known = digests.get(key) ?? hash(password, options);
  digests.set(key, known);
  return known;
}) as typeof hash;
