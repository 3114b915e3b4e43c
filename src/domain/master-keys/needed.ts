import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';

/** Something that an older master key is needed for until it expires. */
export interface NeededKey {
  keyId: string;
  /** `links of registrations` */
  what: string;
  count: number;
  /** When the last of them expires. */
  until: Date;
}

interface Kind {
  what: string;
  table: string;
  /** The column that names the key, or is sealed with it. */
  column: string;
  /** SQL: the key's id. */
  keyId: string;
  /** SQL: which rows can still be used. */
  where: string;
}

const derived = (what: string, table: string, where: string, column = 'token_key_id'): Kind => ({
  what,
  table,
  column,
  where,
  keyId: column,
});
const sealed = (what: string, table: string, column: string): Kind => ({
  what,
  table,
  column,
  keyId: `split_part(${column}, '.', 1)`,
  where: `${column} is not null`,
});

/** Everything that is sealed or derived for a limited time only, and so is not re-encrypted. */
export const neededFor: readonly Kind[] = [
  derived('links of registrations', 'pending_registrations', `status = 'pending'`),
  derived('links of invites of administrators', 'administrator_invites', `status = 'pending'`),
  derived('links of invites of end users', 'identity_invites', `status = 'pending'`),
  derived('links of end users', 'identity_links', 'used_at is null'),
  derived('links for passwords of administrators', 'password_links', 'used_at is null'),
  derived('links of new addresses of administrators', 'email_changes', `status = 'pending'`),
  derived('mailed codes', 'emailed_codes', 'consumed_at is null', 'key_id'),
  derived('requests with an Idempotency-Key', 'idempotent_requests', 'true', 'request_key_id'),
  sealed('kept answers', 'idempotent_requests', 'body_sealed'),
  sealed('sign-ins at identity providers', 'sso_requests', 'sealed_secrets'),
  sealed('answers of identity providers', 'sso_requests', 'sealed_answer'),
  sealed('reports of test sign-ins', 'sso_tests', 'sealed_outcome'),
];

const statement = {
  name: 'needed_master_keys',
  text: neededFor
    .map(
      ({
        what,
        table,
        keyId,
        where,
      }) => `select ${keyId} as "keyId", '${what}' as what, count(*)::int, max(expires_at) as until
from ${table} where expires_at > $1 and ${where} and ${keyId} <> $2 group by 1`,
    )
    .join('\nunion all\n'),
};

/** Returns what master keys other than the current one are still needed for; if empty, they can be removed. */
export const neededKeys = ({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }, currentId: string) =>
  db.statement<NeededKey>(statement, [now(), currentId]);
