import { aal1, aal2 } from '../../sessions/first-factor.js';

export interface RequestedLevel {
  /** Whether only `urn:gatehouse:aal2` will do. */
  requiresAal2: boolean;
  /**
   * Whether `urn:gatehouse:aal1` is accepted too, as the second choice: people with a factor have to show it, and
   * nobody has to enroll one.
   */
  prefersAal2: boolean;
}

/**
 * The meaning of `acr_values`: levels in order of preference, any of which is acceptable (OpenID Connect Core 3.1.2.1,
 * 5.5.1.1).
 */
export function levelIn(acrValues: string | undefined): RequestedLevel {
  const levels = acrValues?.split(' ').filter((value) => value === aal1 || value === aal2) ?? [];
  const isFirst = levels[0] === aal2;
  const takesAal1 = levels.includes(aal1);
  return { requiresAal2: isFirst && !takesAal1, prefersAal2: isFirst && takesAal1 };
}
