import { invalidField } from '../errors.js';

/**
 * Checks that new origins are spelled as browsers send them. `Origin` headers are compared letter by letter, and a
 * browser spells each origin in one way only (WHATWG URL, the serialization of an origin), so another spelling would
 * never match. Existing values are accepted, so that settings can be sent back as they were read.
 * @throws DomainError validation.failed, which contains the right spelling
 */
export function assertOrigins(current: readonly string[], wanted: readonly string[]): void {
  for (const [index, value] of wanted.entries()) {
    if (current.includes(value)) continue;
    const origin = URL.canParse(value) ? new URL(value).origin : null;
    if (origin === value) continue;
    const message =
      origin === null
        ? 'must be an origin such as https://app.example.com'
        : `must be written as browsers send it: ${origin}`;
    throw invalidField(`allowed_origins[${index}]`, 'origin', message);
  }
}
