import type { Place } from './place.js';

/** Whatever makes something by a POST and answers `data`. */
type Make = (url: string, payload: object) => Promise<object>;

/** `saml`: one that its provider's metadata can fill; else one that could be activated, or has been. */
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

/** Of an Environment, and of the Account. */
export const environmentConnection = (kept: Kept) => (place: Place) =>
  connectionAt((url, payload) => place.make(url, payload, 'owner'), '/sso-connections', kept);
export const adminConnection = (make: Make, kept: Kept) => connectionAt(make, '/sso/connections', kept);

/** Of an organization, by whose id it is named; it looks after it itself. */
export async function organizationConnection(place: Place, organizationId: string, kept: Kept): Promise<string> {
  const path = `/organizations/${organizationId}/sso-connection`;
  await place.make(path, provider(kept));
  if (kept === 'active') await place.make(`${path}/activate`, {});
  return organizationId;
}
