/** The specification's scopes, in the order in which discovery names them. */
export const scopes = ['openid', 'profile', 'email', 'org', 'permissions'] as const;
export type ScopeName = (typeof scopes)[number];

/**
 * Those that were asked for and that the client may be given, once each: all others are left out (contract §10).
 * @param allowed what the client is registered for
 */
export const givenScopes = (asked: string | undefined, allowed: readonly string[]): ScopeName[] => {
  const wanted = new Set(asked?.split(' '));
  return scopes.filter((scope) => wanted.has(scope) && allowed.includes(scope));
};

/** What an application learns by a scope, in order: it always knows who somebody is, since every token names them (RFC 9068 §2.2 `sub`). */
export const learntBy = (scope: readonly string[]): ScopeName[] =>
  scopes.filter((name) => name === 'openid' || scope.includes(name));
