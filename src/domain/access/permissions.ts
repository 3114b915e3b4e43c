/** The system's own permissions: what the Public API asks for, and what an API key's scopes can name. */
export const permissions = ['identity.view', 'identity.manage', 'api_key.view', 'api_key.manage'] as const;

export type Permission = (typeof permissions)[number];
