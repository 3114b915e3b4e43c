import type { Db, Statement } from '../../platform/database/db.js';
import { givingBack } from '../limits/rate-limits.js';
import { maxLinkTries } from '../one-time/link-proof.js';
import type { Passwords } from './passwords.js';
import { verifyTyped } from './verify-typed.js';

/** The links that a password confirms in another browser, by the table that counts their tries. */
type Links = 'pending_registrations' | 'identity_links' | 'email_changes';

export interface LinkTriesDeps {
  db: Pick<Db, 'statement'>;
  passwords: Pick<Passwords, 'verify'>;
  links: Links;
}

/** `over`: nothing was checked, since the link has had all its tries or was used meanwhile. */
export type LinkTry = 'right' | 'wrong' | 'over';

const unused = (links: Links) => (links === 'identity_links' ? ' and used_at is null' : '');

/** Checks passwords that are typed at mailed links, so that a link allows ten wrong ones (docs/decisions/0011). */
export function createLinkTries({ db, passwords, links }: LinkTriesDeps) {
  // A try is counted before it is checked, so that parallel tries cannot exceed the limit.
  const count: Statement = {
    name: `try_${links}`,
    text: `update ${links} set attempts = attempts + 1 where id = $1 and attempts < ${maxLinkTries}${unused(links)} returning id`,
  };
  const uncount: Statement = {
    name: `give_back_try_of_${links}`,
    text: `update ${links} set attempts = attempts - 1 where id = $1 and attempts > 0`,
  };

  /**
   * Checks a password for the link with this id. Only a wrong one uses up a try: a right one may have to be repeated
   * after an outage.
   * @param hash of the right password
   * @throws DomainError service.unavailable if too many wait
   */
  return async (id: string, { hash, typed }: { hash: string | null; typed: string }): Promise<LinkTry> => {
    if ((await db.statement(count, [id])).length === 0) return 'over';
    const giveBack = () => db.statement(uncount, [id]);
    if (!(await givingBack(() => verifyTyped(passwords, hash, typed), giveBack))) return 'wrong';
    await giveBack();
    return 'right';
  };
}
