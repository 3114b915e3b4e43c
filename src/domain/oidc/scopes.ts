/** The specification's scopes, in the order in which discovery names them. */
export const scopes = ['openid', 'profile', 'email', 'org', 'permissions'] as const;
export type ScopeName = (typeof scopes)[number];

/**
 * The requested scopes that the client may be given, once each; all others are ignored (contract §10).
 * @param allowed the scopes for which the client is registered
 */
export const allowedScopes = (requested: string | undefined, allowed: readonly string[]): ScopeName[] => {
  const wanted = new Set(requested?.split(' '));
  return scopes.filter((scope) => wanted.has(scope) && allowed.includes(scope));
};

/**
 * Returns the scopes by which an application learns something, in order. It always knows who a person is, since every
 * token names them (RFC 9068 §2.2 `sub`).
 */
export const learntBy = (scope: readonly string[]): ScopeName[] =>
  scopes.filter((name) => name === 'openid' || scope.includes(name));
