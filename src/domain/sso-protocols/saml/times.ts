import { after, clockSkewMs } from '../../../platform/clock.js';
import { SsoRefused } from '../assertion.js';
import type { XmlElement } from './xml.js';

/** Returns when a provider's end time has passed by every clock. */
export const skewed = (end: Date): Date => after(end, clockSkewMs);

/**
 * Returns the instant in an attribute, or null without one.
 * @throws SsoRefused unless it is as in SAML 2.0 Core §1.3.3
 */
export function instantOf(element: XmlElement, name: string): Date | null {
  const text = element.attributes.get(name);
  if (text === undefined) return null;
  const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? new Date(text)
    : null;
  if (!instant || Number.isNaN(instant.getTime())) throw new SsoRefused('malformed', `Its ${name} is not a valid time`);
  return instant;
}

/** @throws SsoRefused outside `NotBefore` and `NotOnOrAfter` (or the attribute `end`), with the clock skew */
export function assertInTime(element: XmlElement, now: Date, end = 'NotOnOrAfter'): void {
  const notBefore = instantOf(element, 'NotBefore');
  const notOnOrAfter = instantOf(element, end);
  if (notBefore && now.getTime() + clockSkewMs < notBefore.getTime()) {
    throw new SsoRefused(
      'not_yet_valid',
      `Its ${element.name} is not valid yet: not before ${notBefore.toISOString()}`,
    );
  }
  if (notOnOrAfter && now.getTime() - clockSkewMs >= notOnOrAfter.getTime()) {
    throw new SsoRefused('expired', `Its ${element.name} expired at ${notOnOrAfter.toISOString()}`);
  }
}

/** @throws SsoRefused if the instant is in the future */
export function assertPast(instant: Date, name: string, now: Date): void {
  if (instant.getTime() > now.getTime() + clockSkewMs) {
    throw new SsoRefused('not_yet_valid', `Its ${name} is in the future: ${instant.toISOString()}`);
  }
}
