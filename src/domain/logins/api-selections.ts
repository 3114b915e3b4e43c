import { after, type Clock, minutes } from '../../platform/clock.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Client } from '../oidc/clients/clients.js';
import { spend, unspend } from '../one-time/spent-tokens.js';
import { samePassword } from '../sessions/as-proved.js';
import { entersWithPassword } from './password-entry.js';

/** An Application in which a person may continue. */
export interface ReachableApplication {
  id: string;
  name: string;
  slug: string;
}

/**
 * A person who has proved their password in an Environment where they are no member, and may choose one where they are.
 */
export interface ApiSelection {
  /** What makes the token work once. */
  id: string;
  identityId: string;
  /** Where they tried. Their choice has to be in the same Account, and in the same type of Environment. */
  accountId: string;
  environmentId: string;
  amr: string[];
  authenticatedAt: Date;
  /** As `FirstFactor` has them. */
  passwordChangedAt: Date | null;
  email: string;
  expiresAt: Date;
}

const life = minutes(5);
const context = 'identity-application-selection';

/** SQL: the Environments `there` that an Identity, `$1`, may enter with its password, coming from `here`. */
const reachable = `
environments here
  cross join lateral (select * from environments where account_id = here.account_id and type = here.type offset 0) there
  cross join lateral (select is_active from environment_memberships
    where environment_id = there.id and identity_id = $1 offset 0) membership
  cross join lateral (select password_login_enabled, login_require_captcha from environment_settings
    where environment_id = there.id offset 0) there_settings
  cross join lateral (select login_require_captcha from environment_settings where environment_id = here.id offset 0) here_settings
where here.id = $2 and here.account_id = $3 and ${entersWithPassword}`;

const listStatement = {
  name: 'applications_of_identity',
  text: `select distinct a.id, a.name, a.slug from (select there.application_id from ${reachable}) reachable
  join applications a on a.id = reachable.application_id order by a.name, a.id`,
};
const mayEnterStatement = {
  name: 'identity_may_enter',
  // A password that was changed meanwhile is not accepted, nor is one that was typed with a former address.
  text: `select from ${reachable} and there.id = $4 and exists (
    select from identities where id = $1 and account_id = $3 and ${samePassword('$5')} and email = $6::citext)`,
};

/** Selection tokens of end users: sealed, so that their bearer cannot read them; for five minutes, once. */
export function createApiSelections({
  db,
  sealing,
  now,
}: {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  now: Clock;
}) {
  return {
    begin(
      { accountId, environmentId }: EnvironmentScope,
      proved: Pick<ApiSelection, 'identityId' | 'amr' | 'authenticatedAt' | 'passwordChangedAt' | 'email'>,
    ) {
      const expiresAt = after(now(), life);
      const selection: ApiSelection = { id: newSecret(), accountId, environmentId, ...proved, expiresAt };
      return { token: sealing.seal(JSON.stringify(selection), context), expiresAt };
    },

    /** Null for anything that is no token of ours, or is too old. */
    read(token: string): ApiSelection | null {
      const written = openSealedJson<ApiSelection>(sealing, token, context);
      if (written === null) return null;
      const { authenticatedAt, passwordChangedAt, expiresAt, ...selection } = written; // in JSON the dates are texts
      if (new Date(expiresAt) <= now()) return null;
      return {
        ...selection,
        authenticatedAt: new Date(authenticatedAt),
        passwordChangedAt: passwordChangedAt && new Date(passwordChangedAt),
        expiresAt: new Date(expiresAt),
      };
    },

    /** Uses it up; false if it was used before. */
    spend: ({ id, expiresAt }: ApiSelection): Promise<boolean> => spend(db, id, expiresAt),

    /** Allows the choice once more, where nobody could be signed in by it for lack of capacity. */
    giveBack: ({ id }: ApiSelection): Promise<void> => unspend(db, id),

    /** The Applications to choose from, by name. */
    reachableFrom: ({ accountId, environmentId }: EnvironmentScope, identityId: string) =>
      db.statement<ReachableApplication>(listStatement, [identityId, environmentId, accountId]),

    async mayEnter(
      { identityId, environmentId, accountId, passwordChangedAt, email }: ApiSelection,
      client: Pick<Client, 'environmentId'>,
    ): Promise<boolean> {
      const values = [identityId, environmentId, accountId, client.environmentId, passwordChangedAt, email];
      return (await db.statement(mayEnterStatement, values)).length > 0;
    },
  };
}

export type ApiSelections = ReturnType<typeof createApiSelections>;
