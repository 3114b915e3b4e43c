/** Returns first and last name together, as far as they are known; null if neither is. */
export const fullNameOf = (person: { firstName: string | null; lastName: string | null }): string | null =>
  [person.firstName, person.lastName].filter(Boolean).join(' ') || null;
