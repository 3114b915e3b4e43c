import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { stays } from '../erasures/staying.js';
import { recordOfIdentity, updated } from '../events/identity-events.js';
import { type FoundLink, findIdentityLink } from '../one-time/identity-links.js';
import { isBrowserOf } from '../one-time/link-proof.js';
import { endAccessOfFormerHolder } from '../passwords/end-access.js';
import { createLinkTries } from '../passwords/link-tries.js';
import type { Passwords } from '../passwords/passwords.js';
import { addMembership } from './sign-up.js';

/** A link as a browser holds it. */
export interface PresentedLink {
  token: string;
  /** Value of the `sign_up` cookie. */
  browser: string | null;
  /** Accepts links of this Environment only, as the API does. */
  environmentId?: string;
}

export type LookedAt =
  | { outcome: 'open'; link: FoundLink; asksPassword: boolean }
  /** `link` is null if there never was one with this token. */
  | { outcome: 'void'; link: FoundLink | null };

export type Confirmed =
  | { outcome: 'confirmed'; link: FoundLink }
  /** The password chosen at sign-up has to be sent along; `wrong`: another one was. */
  | { outcome: 'password_required'; link: FoundLink; wrong: boolean }
  | { outcome: 'void'; link: FoundLink | null };

export interface SignUpLink {
  /** Returns what the link would do. It changes nothing, so mail scanners may open the link. */
  look(presented: PresentedLink): Promise<LookedAt>;
  /**
   * Confirms the address, once: by one click in the browser that signed up; elsewhere only with the password that was
   * chosen at sign-up, since it becomes the person's (docs/decisions/0011).
   */
  confirm(presented: PresentedLink & { password: string | null }): Promise<Confirmed>;
}

export interface ConfirmSignUpDeps {
  db: Db;
  passwords: Pick<Passwords, 'verify'>;
  now: Clock;
}

export function createConfirmSignUp({ db, passwords, now }: ConfirmSignUpDeps): SignUpLink {
  const tryPassword = createLinkTries({ db, passwords, links: 'identity_links' });

  async function look({ token, browser, environmentId }: PresentedLink): Promise<LookedAt> {
    const link = await db.transaction('system', (tx) => findIdentityLink(tx, 'verify_email', token, now()));
    if (!link || (environmentId !== undefined && link.environmentId !== environmentId)) {
      return { outcome: 'void', link: null };
    }
    if (link.status !== 'open') return { outcome: 'void', link };
    return { outcome: 'open', link, asksPassword: asksPassword(link, browser) };
  }

  return {
    look,
    async confirm({ password, ...presented }) {
      const looked = await look(presented);
      if (looked.outcome === 'void') return looked;
      const { link } = looked;
      if (looked.asksPassword) {
        if (!password) return { outcome: 'password_required', link, wrong: false };
        const tried = await tryPassword(link.id, { hash: passwordOf(link), typed: password });
        // Looked up again: the form may have been sent twice.
        if (tried === 'over') return { outcome: 'void', link: (await look(presented)).link };
        if (tried === 'wrong') return { outcome: 'password_required', link, wrong: true };
      }
      const { accountId } = link;
      // Address and password belong to the Account, and earlier sessions can be in any of its Environments.
      return db.transaction({ accountId }, async (tx) => {
        await tx.query('select from identities where id = $1 for update', [link.identityId]);
        const found = await findIdentityLink(tx, 'verify_email', presented.token, now()); // under the lock: it works once
        if (found?.status !== 'open' || !(await stays(tx, { accountId, id: found.identityId })))
          return { outcome: 'void', link: found };
        await settle(tx, found, now());
        return { outcome: 'confirmed', link: found };
      });
    },
  };
}

const passwordOf = ({ passwordHash, currentPasswordHash }: FoundLink) => passwordHash ?? currentPasswordHash;

/** A stranger who signed up with somebody's address knows the password; its owner has the mailbox. So it takes both. */
function asksPassword(link: FoundLink, browser: string | null): boolean {
  if (link.isVerified || passwordOf(link) === null) return false;
  return !isBrowserOf(link.browserHash, browser);
}

async function settle(tx: EntityManager, link: FoundLink, at: Date): Promise<void> {
  const { id, accountId, identityId, isVerified, firstName, lastName, passwordHash } = link;
  const scope = environmentScopeOf(link);
  await tx.query('update identity_links set used_at = $2 where id = $1', [id, at]);
  const actor = { type: 'identity', id: identityId } as const;
  if (!isVerified) {
    const [[before] = []] = await tx.query<[object[], number]>(
      `with before as (select first_name, last_name from identities where account_id = $1 and id = $2)
       update identities set email_verified_at = $3, updated_at = $3, first_name = $4, last_name = $5,
         password_hash = coalesce($6, password_hash),
         password_changed_at = case when $6::text is null then password_changed_at else $3 end
       from before where account_id = $1 and id = $2 returning before.first_name as "firstName", before.last_name as "lastName"`,
      [accountId, identityId, at, firstName, lastName, passwordHash],
    );
    await recordOfIdentity(tx, scope, { identityId, actor }, [
      ...updated(before ?? {}, { firstName, lastName }),
      { action: 'identity.email_verified', metadata: { password_set: passwordHash !== null } },
    ]);
    // Only the earlier owner confirms with the Identity's earlier password. A person who chose a new one, or was asked
    // for none, may be somebody else.
    const isWhoTheyWere = passwordHash === null && link.currentPasswordHash !== null;
    if (!isWhoTheyWere) await endAccessOfFormerHolder(tx, { ...scope, identityId }, { by: actor, now: at });
  }
  if (link.joins && link.membershipId === null) await addMembership(tx, scope, identityId, { now: at, joined: true });
}
