import { randomUUID } from 'node:crypto';
import type { Random } from '../random.js';
import type { DirectoryId, Person } from './model.js';
import { directoriesOf, newAddress, somebody, type World } from './world.js';

/**
 * What steps are about. Most rules concern few people: those who have left, whom another directory could take over, and
 * so on. Each of these situations is drawn as often as any other, or short histories would hardly meet it.
 */

/** Returns one of a kind, each kind that there is being as likely; undefined if there is none. */
export const ofKinds = <T>(random: Random, ...kinds: readonly (readonly T[])[]): T | undefined =>
  random.of(random.of(kinds.filter(({ length }) => length > 0)) ?? []);

/** Somebody whom a step is about; one whom `isMeant` describes is more likely. */
export const somebodyWho = ({ random, model }: World, ...isMeant: ((person: Person) => boolean)[]) =>
  ofKinds(random, ...isMeant.map((is) => model.people.filter((one) => one.joinedAt !== null && is(one))), model.people);

/** The id of somebody whom a directory changes; mostly of one whom it sees. */
export function someUserOf(world: World, directory: DirectoryId): string {
  const { random, model } = world;
  const seen = model.usersOf(directory);
  const own = seen.filter(({ user }) => user?.directory === directory);
  const isOfAnother = ({ email }: Person) => model.holderOf(directory, email) === 'another';
  // They are removed from the organization alone.
  const isGuest = (one: Person) => one.user?.made !== true || model.isElsewhere(directory, one);
  const one = ofKinds(
    random,
    own,
    own.filter(({ isSignedIn }) => isSignedIn),
    seen.filter((one) => one.isSignedIn && isGuest(one) && model.vouches(directory, one.email)),
    own.filter((one) => !one.isActive || !model.isIn(directory, one)),
    own.filter(isOfAnother),
    own.filter((one) => model.isElsewhere(directory, one)),
    seen.filter((one) => !own.includes(one) && model.vouches(directory, one.email)),
    random.below(3) > 0 ? [] : model.people,
  );
  return one?.id ?? randomUUID();
}

/** An address that a directory sends for somebody new: nobody's, or that of one whom it may make its User, or not. */
export function addressFor(world: World, directory: DirectoryId): string {
  const { random, model } = world;
  if (random.below(5) < 2) return newAddress(world);
  const vouchedFor = model.people.filter(({ email }) => model.vouches(directory, email));
  const isOfGroups = ({ id }: Person) => model.groups.some(({ members }) => members.includes(id));
  const one = ofKinds(
    random,
    vouchedFor.filter((one) => one.user && one.user.directory !== directory),
    vouchedFor.filter((one) => one.user && one.user.directory !== directory && isOfGroups(one)),
    vouchedFor.filter((one) => one.user?.isSuspended && one.user.directory !== directory),
    vouchedFor.filter(({ keptOutBy }) => keptOutBy !== null),
    vouchedFor.filter((one) => one.joinedAt !== null && !one.user),
    random.below(2) > 0 ? [] : model.people,
  );
  return one?.email ?? newAddress(world);
}

/** Somebody and an organization that they may join; often one whose directory has them, or has their domain. */
export function someJoining(world: World): [Person | undefined, DirectoryId] {
  const { random, model } = world;
  const all = [...model.members.keys()].flatMap((organization) =>
    model.people.map((person): [Person, DirectoryId] => [person, organization]),
  );
  const outside = all.filter(([person, organization]) => person.joinedAt && !model.isMember(organization, person));
  const pair = ofKinds(
    random,
    outside.filter(([person, organization]) => person.user?.directory === organization),
    outside.filter(([person, organization]) => model.vouches(organization, person.email)),
    outside.filter(([person, organization]) => person.user && person.user.directory !== organization),
    all,
  );
  return pair ?? [undefined, random.of([...model.members.keys()])];
}

/** Somebody and an organization; mostly one that they are a member of. */
export function someMembership(world: World): [Person | undefined, DirectoryId] {
  const { random, model } = world;
  const organization = random.of([...model.members.keys()]);
  const members = model.people.filter((one) => model.isMember(organization, one));
  return [random.below(5) > 0 && members.length > 0 ? random.of(members) : somebody(world), organization];
}

/** A domain and who begins or ceases to have it; often one whose people another directory has by now. */
export function someOwnership(world: World): [domain: string, owner: DirectoryId] {
  const { random, model, domains } = world;
  const all = domains.flatMap((domain) => directoriesOf(world).map((owner): [string, DirectoryId] => [domain, owner]));
  const isNew = all.filter(([domain, owner]) => model.domains.get(domain)?.has(owner) !== true);
  const isWithPeople = isNew.filter(([domain, owner]) => {
    const theirs = model.people.filter(({ email }) => email.toLowerCase().endsWith(`@${domain}`));
    return theirs.some(
      ({ user }) => user && user.directory !== owner && !model.domains.get(domain)?.has(user.directory),
    );
  });
  return ofKinds(random, isWithPeople, all) as [string, DirectoryId];
}
