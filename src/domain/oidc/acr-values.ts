import { aal1, aal2 } from '../sessions/first-factor.js';

export interface AskedLevel {
  /** Whether only `urn:gatehouse:aal2` will do. */
  requiresAal2: boolean;
  /** Whether `urn:gatehouse:aal1` will do too, and is named behind it: who has a factor is asked for it, and nobody enrolls one. */
  prefersAal2: boolean;
}

/** What `acr_values` ask for: levels in the order of preference, of which any will do (OpenID Connect Core 3.1.2.1, 5.5.1.1). */
export function levelIn(acrValues: string | undefined): AskedLevel {
  const levels = acrValues?.split(' ').filter((value) => value === aal1 || value === aal2) ?? [];
  const isFirst = levels[0] === aal2;
  const takesAal1 = levels.includes(aal1);
  return { requiresAal2: isFirst && !takesAal1, prefersAal2: isFirst && takesAal1 };
}
