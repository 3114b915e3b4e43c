import type { Client } from '../../domain/oidc/clients/clients.js';

/** The name under which an authenticator saves a key: the Environment's, or else the application's. */
export const relyingPartyOf = ({ name, settings }: Pick<Client, 'name' | 'settings'>): string =>
  settings.branding.name ?? name;
