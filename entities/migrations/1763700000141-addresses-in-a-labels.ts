import { domainToASCII } from 'node:url';
import type { MigrationInterface, QueryRunner } from 'typeorm';

interface Addressed {
  id: string;
  accountId: string;
  email: string;
}

/**
 * Converts the domains of people's addresses to A-labels, the form that new addresses and look-ups have. A sign-up with
 * a browser that sends `bücher.example` as typed had stored such domains. If somebody in the Account has the same
 * address in A-labels already, both stay as they are: only their administrators know which one belongs to whom.
 */
export class AddressesInALabels1763700000141 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    const found: Addressed[] = await db.query(
      `select id, account_id as "accountId", email::text from identities where split_part(email::text, '@', 2) ~ '[^[:ascii:]]'`,
    );
    for (const { id, accountId, email } of found ?? []) {
      const at = email.lastIndexOf('@');
      const typed = email.slice(at + 1);
      // Node's function parses a URL's host and drops the rest: `a@bücher.example#x` must not become another address.
      const domain = /^[\p{L}\p{M}\p{N}.-]+$/u.test(typed) ? domainToASCII(typed) : '';
      if (domain === '') continue;
      await db.query(
        `update identities set email = $3, updated_at = now()
where account_id = $1 and id = $2 and not exists (select from identities o where o.account_id = $1 and o.email = $3::citext)`,
        [accountId, id, `${email.slice(0, at)}@${domain}`],
      );
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
