import type { Place } from './place.js';

/** Creates something by a POST; returns `data`. */
type Make = (url: string, payload: object) => Promise<object>;

/** `saml`: metadata of its provider can fill it; otherwise it can be activated, or is active. */
type Kept = 'saml' | 'complete' | 'active';

const provider = (kept: Kept) =>
  kept === 'saml'
    ? { type: 'saml', name: 'Provider' }
    : {
        type: 'oidc',
        name: 'Provider',
        oidc_discovery_url: 'https://idp.example',
        oidc_client_id: 'gatehouse',
        oidc_client_secret: 'secret',
      };

async function connectionAt(make: Make, path: string, kept: Kept): Promise<string> {
  const { connection } = (await make(path, provider(kept))) as { connection: { id: string } };
  if (kept === 'active') await make(`${path}/${connection.id}/activate`, {});
  return connection.id;
}

/** Creates a connection of an Environment; `adminConnection`, of the Account. */
export const environmentConnection = (kept: Kept) => (place: Place) =>
  connectionAt((url, payload) => place.make(url, payload, 'owner'), '/sso-connections', kept);
export const adminConnection = (make: Make, kept: Kept) => connectionAt(make, '/sso/connections', kept);

/** Creates an organization's connection, which the organization's id names and the Environment's server can manage. */
export async function organizationConnection(place: Place, organizationId: string, kept: Kept): Promise<string> {
  const path = `/organizations/${organizationId}/sso-connection`;
  await place.make(path, provider(kept));
  if (kept === 'active') await place.make(`${path}/activate`, {});
  return organizationId;
}
