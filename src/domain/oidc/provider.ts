import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import { createRootPermissions } from '../access/root-permissions.js';
import { type Consents, createConsents } from '../consents/consents.js';
import { createOrganizationsClaim, type OrganizationsClaim } from '../organizations/claim.js';
import { createSessions, type Sessions } from '../sessions/sessions.js';
import { type AccessTokens, createAccessTokens } from './access-tokens.js';
import { type AskedOrganizations, createAskedOrganizations } from './asked-organization.js';
import { createClientAssertions } from './client-assertions.js';
import { type ClientAuthentication, createClientAuthentication } from './client-authentication.js';
import { createClientKeys } from './client-keys.js';
import { type Clients, createClients } from './clients.js';
import { type Codes, createCodes } from './codes.js';
import { createGrants, type Grants } from './grants.js';
import type { SigningKeys } from './keys.js';
import { createPresentedTokens, type PresentedTokens } from './presented-tokens.js';
import type { RefreshTokens } from './refresh-tokens.js';
import { createTokens, type Tokens } from './tokens.js';

/** The services for the OAuth endpoints. */
export interface Provider {
  baseUrl: string;
  keys: SigningKeys;
  clients: Clients;
  clientAuthentication: ClientAuthentication;
  codes: Codes;
  consents: Consents;
  grants: Grants;
  tokens: Tokens;
  accessTokens: AccessTokens;
  askedOrganizations: AskedOrganizations;
  organizationsClaim: OrganizationsClaim;
  presentedTokens: PresentedTokens;
  sessions: Sessions;
  now: Clock;
}

export interface ProviderDeps {
  db: Db;
  keys: SigningKeys;
  refreshTokens: RefreshTokens;
  outbound: Outbound;
  baseUrl: string;
  now: Clock;
}

/** The OpenID provider's services; keys and refresh tokens are shared with the administrators' sign-in. */
export function createProvider({ db, keys, refreshTokens, outbound, baseUrl, now }: ProviderDeps): Provider {
  const clients = createClients({ db, now });
  const clientKeys = createClientKeys({ outbound, now });
  const assertions = createClientAssertions({ db, clientKeys, baseUrl, now });
  const consents = createConsents({ db, now });
  const grants = createGrants({ db, refreshTokens, now });
  const accessTokens = createAccessTokens({ db, keys, baseUrl, now });
  const rootPermissions = createRootPermissions({ db, now });
  const organizationsClaim = createOrganizationsClaim({ db });
  return {
    baseUrl,
    keys,
    clients,
    clientAuthentication: createClientAuthentication({ clients, assertions }),
    codes: createCodes({ db, grants, consents, now }),
    consents,
    grants,
    tokens: createTokens({ keys, rootPermissions, organizationsClaim, baseUrl, now }),
    accessTokens,
    askedOrganizations: createAskedOrganizations({ db }),
    organizationsClaim,
    presentedTokens: createPresentedTokens({ db, keys, accessTokens, grants, baseUrl, now }),
    sessions: createSessions({ db, now }),
    now,
  };
}
