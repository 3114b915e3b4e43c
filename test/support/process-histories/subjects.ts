import { rolesByKey, tokenOf } from '../administrators.js';
import { newAccount } from '../api.js';
import { type Call, callsOf } from '../calls.js';
import { linkTokenOf } from '../identity-invites.js';
import { createRandom, type Random } from '../random.js';
import { newDomains } from './domains.js';
import { newInvites } from './invites.js';
import { newPerson } from './people.js';
import { newRemovals } from './removals.js';
import type { Subject } from './subject.js';
import { newGraces, newRoleWindows } from './windows.js';
import type { ProcessWorld } from './world.js';

/** Begins an Account with everything that can wait in it, each with a random generator of its own: they act at once. */
export async function newSubjects(world: ProcessWorld, seed: number): Promise<{ subject: Subject; own: Random }[]> {
  const account = await newAccount(world.api);
  // Days may pass between two calls.
  const owner: Call = async (...sent) => callsOf(world.api, account.accountSlug, await account.as('owner'))(...sent);
  const { viewer } = await rolesByKey(owner);
  const application = `/applications/${account.applicationSlug}/environments`;
  const environment = `${application}/development`;
  await world.query(
    "update environment_settings set mfa_policy = 'required', mfa_grace_period_days = 10 where environment_id = $1",
    account.scope.environmentId,
  );
  const [role] = (await owner('GET', `${environment}/roles`)).json().items;
  const place = { path: environment, environments: application, scope: account.scope, roleId: role.id };
  const administrators = {
    table: 'administrator_invites',
    name: 'administrator_invite',
    path: '/administrator-invites',
    body: { role_id: viewer },
    acceptUrl: '/v1/auth/accept-invite',
    tokenOf,
    canBeExtended: true,
  } as const;
  const endUsers = {
    table: 'identity_invites',
    name: 'identity_invite',
    path: `${environment}/identity-invites`,
    body: {},
    acceptUrl: '/v1/identity/auth/accept-invite',
    tokenOf: linkTokenOf,
    canBeExtended: false,
  } as const;
  const begin: ((own: Random) => Subject)[] = [
    ...[administrators, administrators, endUsers].map((kind) => (own: Random) => newInvites(world, own, owner, kind)),
    ...[newRoleWindows, newRoleWindows, newGraces, newGraces].map(
      (made) => (own: Random) => made(world, own, owner, place),
    ),
    (own) => newRemovals(world, own, owner, place),
    (own) => newDomains(world, own, owner),
    (own) => newPerson(world, own),
    (own) => newPerson(world, own),
  ];
  return begin.map((made, i) => {
    const own = createRandom(1000 * seed + i);
    return { subject: made(own), own };
  });
}
