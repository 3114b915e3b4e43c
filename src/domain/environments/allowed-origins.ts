import { invalidField } from '../errors.js';

/**
 * An `Origin` header is compared letter by letter, and browsers write each origin in one way only (WHATWG URL, the serialization
 * of an origin): a value in another spelling would never match. What is there already stays, so that settings can be sent back as they were read.
 * @throws DomainError validation.failed, which says the right spelling
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
