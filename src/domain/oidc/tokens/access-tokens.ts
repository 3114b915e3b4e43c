import type { JWTPayload } from 'jose';
import type { Clock } from '../../../platform/clock.js';
import { byPosition, createBatcher } from '../../../platform/database/batching.js';
import type { Db } from '../../../platform/database/db.js';
import { uuidArray } from '../../../platform/database/uuid-array.js';
import { DomainError } from '../../errors.js';
import { environmentExists } from '../../existing-environment.js';
import { belongsTo } from '../../organizations/belonging.js';
import type { SigningKeys } from '../keys.js';
import { type Subject, subjectColumns } from './claims.js';
import { createVerifiedTokens } from './verified-tokens.js';

/** A valid access token of an end user: signed by us, not revoked, with its grant, session and membership in force. */
export interface ProvenIdentity {
  identityId: string;
  accountId: string;
  applicationId: string;
  environmentId: string;
  sessionId: string;
  grantId: string;
  clientId: string;
  /** Whether the client is a third-party application, for which people are asked for consent (`consent_required`). */
  isThirdParty: boolean;
  scope: string[];
}

export interface ProvenToken extends ProvenIdentity {
  claims: JWTPayload;
  subject: Subject;
}

export interface AccessTokens {
  /** @throws DomainError principal.wrong_type for an administrator's token. Null for a token that is not valid. */
  prove(token: string): Promise<ProvenToken | null>;
}

/**
 * The token's own claims are trusted for what cannot change. The database decides whether it is still valid, in one
 * statement for all tokens that are presented at the same time. Each `offset 0` keeps the join in this order, one row
 * to one row by key.
 */
const proveText = `
select asked.position::int as position, c.client_id as "clientId", c.application_id as "applicationId", c.consent_required as "isThirdParty",
  g.account_id as "accountId", g.environment_id as "environmentId", g.session_id as "sessionId", ${subjectColumns}
from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality as asked (grant_id, identity_id, jti, position)
  cross join lateral (select * from grants where id = asked.grant_id offset 0) g
  cross join lateral (select revoked_at from sessions where id = g.session_id offset 0) s
  cross join lateral (select client_id, application_id, consent_required from oauth_clients where id = g.oauth_client_id offset 0) c
  cross join lateral (select is_active from environment_memberships
    where environment_id = g.environment_id and identity_id = g.identity_id offset 0) m
  cross join lateral (select * from identities where id = g.identity_id offset 0) i
  cross join lateral (select exists (select from revoked_access_tokens where jti = asked.jti) as is_revoked offset 0) r
where g.identity_id = asked.identity_id and g.expires_at > $4 and g.revoked_at is null and s.revoked_at is null
  and m.is_active and ${environmentExists('g')} and not r.is_revoked`;
/**
 * The statements by the kind of sign-in. A token that names an organization is valid as long as its person belongs to
 * it, like a refresh. Other tokens have a statement of their own, since even a part that is not executed costs them its
 * preparation.
 */
const proveStatements = {
  nothing: { name: 'prove_access_tokens', text: proveText },
  organization: {
    name: 'prove_access_tokens_of_organizations',
    text: `${proveText} and ${belongsTo('g.organization_id', 'g.environment_id', 'g.identity_id')}`,
  },
};
type SignedInFor = keyof typeof proveStatements;

/** The claims of a token for which the database is asked. */
interface PresentedClaims {
  grantId: string;
  identityId: string;
  jti: string;
}

interface Row extends Subject {
  /** The token's position among those that are asked about, from 1. */
  position: number;
  clientId: string;
  isThirdParty: boolean;
  accountId: string;
  applicationId: string;
  environmentId: string;
  sessionId: string;
}

export function createAccessTokens({
  db,
  keys,
  baseUrl,
  now,
}: {
  db: Db;
  keys: SigningKeys;
  baseUrl: string;
  now: Clock;
}): AccessTokens {
  const verified = createVerifiedTokens({ keys, audience: baseUrl, now });

  const prove = createBatcher<PresentedClaims, Row | undefined>(async (signedInFor, shown) => {
    const rows = await db.statement<Row>(proveStatements[signedInFor as SignedInFor], [
      uuidArray(shown.map(({ grantId }) => grantId)),
      uuidArray(shown.map(({ identityId }) => identityId)),
      uuidArray(shown.map(({ jti }) => jti)),
      now(),
    ]);
    return byPosition(shown, rows);
  });

  return {
    async prove(token) {
      const claims = await verified(token);
      if (!claims) return null;
      if (claims.principal_type !== 'identity') throw new DomainError('principal.wrong_type');
      const { sub, jti, grant_id: grantId, scope } = claims;
      if (typeof grantId !== 'string' || !sub || !jti) return null;
      const signedInFor: SignedInFor = claims.organization_id === undefined ? 'nothing' : 'organization';
      const [row] = await prove(signedInFor, [{ grantId, identityId: sub, jti }]);
      if (!row) return null;
      const {
        position: _,
        clientId,
        isThirdParty,
        accountId,
        applicationId,
        environmentId,
        sessionId,
        ...subject
      } = row;
      return {
        identityId: subject.identityId,
        accountId,
        applicationId,
        environmentId,
        sessionId,
        grantId,
        clientId,
        isThirdParty,
        scope: typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [],
        claims,
        subject,
      };
    },
  };
}
