import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import { createRootPermissions } from '../access/decisions/root-permissions.js';
import { type Consents, createConsents } from '../consents/consents.js';
import { createOrganizationsClaim, type OrganizationsClaim } from '../organizations/claim.js';
import { createSessions, type Sessions } from '../sessions/sessions.js';
import { createClientAssertions } from './clients/assertions.js';
import { type ClientAuthentication, createClientAuthentication } from './clients/authentication.js';
import { type Clients, createClients } from './clients/clients.js';
import { createClientKeys } from './clients/keys.js';
import type { SigningKeys } from './keys.js';
import { createRequestedOrganizations, type RequestedOrganizations } from './requests/requested-organization.js';
import { type AccessTokens, createAccessTokens } from './tokens/access-tokens.js';
import { type Codes, createCodes } from './tokens/codes.js';
import { createGrants, type Grants } from './tokens/grants.js';
import { createPresentedTokens, type PresentedTokens } from './tokens/presented-tokens.js';
import type { RefreshTokens } from './tokens/refresh-tokens.js';
import { createTokens, type Tokens } from './tokens/tokens.js';

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
  requestedOrganizations: RequestedOrganizations;
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
    clientAuthentication: createClientAuthentication({ clients, assertions, now }),
    codes: createCodes({ db, grants, consents, now }),
    consents,
    grants,
    tokens: createTokens({ keys, rootPermissions, organizationsClaim, baseUrl, now }),
    accessTokens,
    requestedOrganizations: createRequestedOrganizations({ db }),
    organizationsClaim,
    presentedTokens: createPresentedTokens({ db, keys, accessTokens, grants, baseUrl, now }),
    sessions: createSessions({ db, now }),
    now,
  };
}
