import type { EntityManager } from 'typeorm';
import { isUuid } from '../../../platform/uuid.js';
import { containing } from '../../lists/paging.js';
import type { Directory } from '../directory.js';
import { targetOf } from '../filters/attribute-path.js';
import { candidateIds, type LookUp, type LookUpsOf, maxFoundByIndexes } from '../filters/look-ups.js';
import type { Filter } from '../filters/syntax.js';
import { userKind } from '../kinds.js';
import { isBroad, type ListRequest } from '../lists.js';

/** `kept` and `named`: people with the value somewhere in their texts in `scim_users`, or in `identities`. */
type By = 'id' | 'userName' | 'externalId' | 'group' | 'address' | 'kept' | 'named';

/** The place of an attribute's text, in the indexes of trigrams (migrations 0034 and 0084). */
const texts: Record<string, readonly By[]> = {
  userName: ['kept', 'named'],
  externalId: ['kept'],
  displayName: ['kept'],
  employeeNumber: ['kept'],
  phoneNumbers: ['kept'],
  emails: ['kept', 'named'],
  'name.givenName': ['named'],
  'name.familyName': ['named'],
};

const ofComparison: LookUpsOf<By> = (path, op, value) => {
  const { attribute, sub } = targetOf(userKind, path) ?? {};
  if (!attribute) return null;
  const name = attribute.multiValued || !sub ? attribute.name : `${attribute.name}.${sub.name}`;
  const isValue = !attribute.multiValued || !sub || sub.name === 'value';
  const by = (...ways: readonly By[]): LookUp<By>[] => ways.map((way) => ({ by: way, value }));
  if (op === 'eq' && isValue) {
    if (name === 'id' || name === 'userName' || name === 'externalId') return by(name);
    if (name === 'groups') return by('group');
    // The primary address is the Identity's, and has an index of its own.
    if (name === 'emails' && isSearched(value)) return by('address', 'kept');
  }
  const ways = texts[name];
  const isPart = op === 'eq' || op === 'co' || op === 'sw' || op === 'ew';
  return isPart && ways && isValue && isSearched(value) ? by(...ways) : null;
};

/**
 * Without three letters or digits in a row, an index of trigrams says nothing and is read as a whole. Quotes and such
 * look different in lists, whose texts are JSON.
 */
const isSearched = (value: string): boolean =>
  /[a-z0-9]{3}/i.test(value) && JSON.stringify(value).length === value.length + 2;

/** Whether a list of users waits for its turn (`isBroad`). */
export const isBroadForUsers = (request: ListRequest): boolean =>
  isBroad(request, ofComparison, ['id', 'userName', 'externalId', 'address']);

/**
 * Returns the ids of all people who can match a filter, as `candidateIds`. Row-level security, and expressions over two
 * tables, would keep the planner from finding them itself.
 */
export const meantUsers = (tx: EntityManager, { scope, directoryId }: Directory, filter: Filter) =>
  candidateIds(filter, ofComparison, (of) => {
    const ids = of('id').filter((id) => isUuid(id));
    const groups = of('group').filter((id) => isUuid(id));
    const names = of('userName');
    const kept = of('kept').map(containing);
    const named = of('named').map(containing);
    return tx.query<{ id: string | null }[]>(
      `select unnest($3::uuid[]) as id
       union all select identity_id from scim_users where account_id = $1 and directory_id = $2 and user_name_key = any($4::text[])
       union all select identity_id from scim_users where account_id = $1 and directory_id = $2 and external_id = any($5::text[])
       union all select identity_id from scim_group_members where account_id = $1 and group_id = any($6::uuid[])
       union all select gatehouse_identity_id($1, address) from unnest($7::citext[]) address
       union all select gatehouse_matching_scim_users($1, $2, pattern) from unnest($8::text[]) pattern
       union all select gatehouse_matching_directory($1, pattern) from unnest($9::text[]) pattern
       limit $10`,
      [
        scope.accountId,
        directoryId,
        ids,
        names.map((name) => name.toLowerCase()),
        of('externalId'),
        groups,
        [...names, ...of('address')],
        kept,
        named,
        maxFoundByIndexes + 1,
      ],
    );
  });
