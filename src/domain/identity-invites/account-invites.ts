import type { Db } from '../../platform/database/db.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import type { IdentityInvites, NewIdentityInvite } from './identity-invites.js';
import type { ShownIdentityInvite } from './rows.js';

export type DirectoryInvite = Pick<NewIdentityInvite, 'email' | 'firstName' | 'lastName' | 'locale'> & {
  /** Whose brand and password rules apply; by default the oldest production Environment, or else the oldest of all. */
  environmentId: string | undefined;
};

export interface AccountIdentityInvitesDeps {
  db: Db;
  identityInvites: Pick<IdentityInvites, 'create' | 'get' | 'resend' | 'revoke'>;
}

export type AccountIdentityInvites = ReturnType<typeof createAccountIdentityInvites>;

/** Manages invites of end users at the level of the Account, whichever Environment they belong to (contract §6). */
export function createAccountIdentityInvites({ db, identityInvites }: AccountIdentityInvitesDeps) {
  const placeBy = async (
    { accountId }: AccountScope,
    missing: 'identity_invite.not_found' | 'environment.not_found',
    text: string,
    value: string | null,
  ): Promise<EnvironmentScope> => {
    const [place] = await db.transaction({ accountId }, (tx) =>
      tx.query<Omit<EnvironmentScope, 'accountId'>[]>(
        `select e.id as "environmentId", e.application_id as "applicationId" from environments e ${text}`,
        [accountId, value],
      ),
    );
    if (!place) throw new DomainError(missing);
    return { accountId, ...place };
  };
  const placeOf = (scope: AccountScope, inviteId: string) =>
    placeBy(
      scope,
      'identity_invite.not_found',
      `join identity_invites i on i.environment_id = e.id and i.account_id = e.account_id
       where e.account_id = $1 and i.id = $2 and i.intent <> 'organization'`,
      inviteId,
    );

  return {
    /** @throws DomainError identity_invite.not_found */
    get: async (scope: AccountScope, id: string): Promise<ShownIdentityInvite> =>
      identityInvites.get(await placeOf(scope, id), id),

    /**
     * Invites somebody by mail to the Account's directory, without a membership of any Environment.
     * @throws DomainError environment.not_found, and as `IdentityInvites.create`
     */
    async create(scope: AccountScope, caller: Caller, { environmentId, ...person }: DirectoryInvite) {
      const place = await placeBy(
        scope,
        'environment.not_found',
        `where e.account_id = $1 and ($2::uuid is null or e.id = $2) order by e.type <> 'production', e.created_at, e.id limit 1`,
        environmentId ?? null,
      );
      return identityInvites.create(place, caller, { ...person, intent: 'directory', roleId: null, nodeId: null });
    },

    /** @throws DomainError as `IdentityInvites.resend` */
    resend: async (scope: AccountScope, caller: Caller, id: string): Promise<ShownIdentityInvite> =>
      identityInvites.resend(await placeOf(scope, id), caller, id),

    /** @throws DomainError identity_invite.not_found, identity_invite.not_pending */
    revoke: async (scope: AccountScope, id: string): Promise<ShownIdentityInvite> =>
      identityInvites.revoke(await placeOf(scope, id), id),
  };
}
