import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { domainOfAddress } from '../sso-connections/covering.js';

/** Who decides about a person's address. */
interface Control {
  /** Whether the Environment, or a production one that the person is in, does not allow the change. */
  isOff: boolean;
  /** Whether somebody else decides which address the person has. */
  isManaged: boolean;
  /** Whether the new address is in a domain whose owner decides who has it. */
  isOfManagedDomain: boolean;
}

// A person has one address in the Account. A test Environment decides nothing about people in production, so that only
// its own people need its permission. Whoever has verified a domain provisions its people, or signs them in.
const controlStatement = {
  name: 'may_change_own_email',
  text: `
with places as (
  select m.environment_id, e.type, s.allow_email_change
  from environment_memberships m
    join environments e on e.id = m.environment_id and e.account_id = m.account_id
    join environment_settings s on s.environment_id = e.id
  where m.account_id = $1 and m.identity_id = $2
), domains as (
  select d.domain from sso_domains d
  where d.account_id = $1 and d.status = 'verified'
    and (d.environment_id is null or d.environment_id in (select environment_id from places))
)
select
  not exists (select from places where environment_id = $3)
    or exists (select from places where not allow_email_change and (environment_id = $3 or type = 'production')) as "isOff",
  exists (select from places p join scim_users u on u.environment_id = p.environment_id and u.identity_id = $2)
    or exists (select from sso_links l where l.account_id = $1 and l.identity_id = $2)
    or exists (select from domains where domain = $4) as "isManaged",
  exists (select from domains where domain = $5) as "isOfManagedDomain"`,
};

/** Who changes an address, from which to which. */
export interface WantedAddress {
  identityId: string;
  /** The present address. */
  from: string;
  /** Null before the person has typed one. */
  to: string | null;
}

/** Reads who decides about a person's address. @param on if it is a transaction, one of the Account */
async function controlOf(
  on: Pick<Db, 'statement'>,
  { accountId, environmentId }: EnvironmentScope,
  { identityId, from, to }: WantedAddress,
): Promise<Control> {
  const domains = [domainOfAddress(from), to === null ? null : domainOfAddress(to)];
  const [found] = await on.statement<Control>(controlStatement, [accountId, identityId, environmentId, ...domains]);
  return found as Control;
}

/** Whether a person may change their own address at all. */
export async function mayChangeEmail(
  on: Pick<Db, 'statement'>,
  scope: EnvironmentScope,
  whom: Omit<WantedAddress, 'to'>,
): Promise<boolean> {
  const { isOff, isManaged } = await controlOf(on, scope, { ...whom, to: null });
  return !isOff && !isManaged;
}

/**
 * Checks that a person may change their own address. Of the new one, only its domain matters: the answer is the same
 * whether or not somebody has the address.
 * @throws DomainError route.not_found where it is switched off; email_change.managed, email_change.domain_managed
 */
export async function assertMayChangeEmail(
  on: Pick<Db, 'statement'>,
  scope: EnvironmentScope,
  wanted: WantedAddress,
): Promise<void> {
  const { isOff, isManaged, isOfManagedDomain } = await controlOf(on, scope, wanted);
  if (isOff) throw new DomainError('route.not_found');
  if (isManaged) throw new DomainError('email_change.managed');
  if (isOfManagedDomain) throw new DomainError('email_change.domain_managed');
}
