/** The specification's scopes, in the order in which discovery names them. */
export const scopes = ['openid', 'profile', 'email', 'org', 'permissions'] as const;
export type ScopeName = (typeof scopes)[number];

/** The known ones among those that were asked for, once each: unknown scopes are left out (contract §10). */
export const knownScopes = (asked: string | undefined): ScopeName[] => {
  const wanted = new Set(asked?.split(' '));
  return scopes.filter((scope) => wanted.has(scope));
};
