/** First and last name as one, as far as there are any; null without both. */
export const fullNameOf = (person: { firstName: string | null; lastName: string | null }): string | null =>
  [person.firstName, person.lastName].filter(Boolean).join(' ') || null;
