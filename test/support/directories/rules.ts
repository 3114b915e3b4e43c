import { isSame } from '../addresses.js';
import type { DirectoriesModel, DirectoryId, Person } from './model.js';

/** What a User is to be, as a directory has sent it or as it follows from what it has changed. */
export interface WantedUser {
  userName: string;
  email: string;
  emails: 'none' | 'primary' | 'work';
  firstName: string | null;
  lastName: string | null;
  externalId: string | null;
  title: string | null;
  department: string | null;
  /** Undefined: not sent. */
  active?: boolean | undefined;
}

/** Returns what a directory reads of a person, without `active`. */
export function contentsOf(directory: DirectoryId, person: Person): WantedUser {
  const { email, firstName, lastName } = person;
  const user = person.user?.directory === directory ? person.user : null;
  const userName = user?.userName ?? email;
  const { externalId = null, title = null, department = null, emails: sent = 'none' } = user ?? {};
  const emails = sent === 'none' && !isSame(userName, email) ? 'primary' : sent;
  return { userName, email, emails, firstName, lastName, externalId, title, department };
}

/** What directories may do about people (docs/scim.md), as functions that throw the outcome of a refusal. */
export function createDirectoryRules(model: DirectoriesModel) {
  function assertNameIsFree(directory: DirectoryId, userName: string, but?: Person): void {
    const isTaken = model.people.some(
      ({ user }) => user && user !== but?.user && user.directory === directory && isSame(user.userName, userName),
    );
    if (isTaken) throw '409 uniqueness';
  }

  /** Takes a person over from another directory, if that does not keep them. */
  function takeOver(person: Person, refusal: string): void {
    if (!person.user) return;
    const { directory: from, isSuspended } = person.user;
    if (model.vouches(from, person.email)) throw refusal;
    model.leaveGroups(person);
    if (isSuspended && model.isOrganization(from)) model.setActive(person, true);
    person.user = null;
  }

  /** @returns whether the directory had the person before, and had made them a member */
  function adopt(directory: DirectoryId, person: Person): boolean {
    if (person.user?.directory === directory) return person.user.made;
    if (!model.vouches(directory, person.email)) throw '403';
    takeOver(person, '403');
    assertNameIsFree(directory, person.email);
    const made = !model.isOrganization(directory);
    const nothing = { externalId: null, title: null, department: null, emails: 'none' as const };
    person.user = { directory, userName: person.email, ...nothing, made, isSuspended: false };
    return false;
  }

  const isItsOwn = (directory: DirectoryId, person: Person, made = person.user?.made === true): boolean => {
    const holder = model.holderOf(directory, person.email);
    if (holder !== 'nobody' || !model.isOrganization(directory)) return holder !== 'another';
    return made && !model.isElsewhere(directory, person);
  };
  const mayRename = (directory: DirectoryId, person: Person) =>
    model.vouches(directory, person.email) || (!person.isInProduction && isItsOwn(directory, person));

  function mayMove(directory: DirectoryId, person: Person, to: string, made: boolean): boolean {
    const [isVouchedFor, holder] = [model.vouches(directory, person.email), model.holderOf(directory, to)];
    if (holder === 'another') return false;
    if (isVouchedFor && (!model.isOrganization(directory) || holder === 'owner')) return true;
    const isProved = !isVouchedFor && person.verifiedAt !== null;
    const isUsed = person.wasSignedIn || person.isInProduction || person.hasPassword || isProved;
    const hasOthers = [...model.held().values()].some(
      ({ identity, from }) => identity === person.id && from !== directory,
    );
    return made && !isUsed && !hasOthers && !model.isElsewhere(directory, person);
  }

  function deactivate(directory: DirectoryId, person: Person): void {
    if (!person.isActive || !person.user) return;
    if (!model.isOrganization(directory) || isItsOwn(directory, person)) model.setActive(person, false);
    else {
      if (!model.isIn(directory, person) && person.user.isSuspended) return;
      leaveOrganization(directory, person);
    }
    person.user.isSuspended = true;
  }
  function leaveOrganization(directory: DirectoryId, person: Person): void {
    if (model.isMember(directory, person)) model.leave(person, directory);
    if (model.holderOf(directory, person.email) !== 'another') person.isSignedIn = false;
  }

  function activate(directory: DirectoryId, person: Person): void {
    if (!person.user || (person.isActive && model.isIn(directory, person))) return;
    const isOrganization = model.isOrganization(directory);
    if (isOrganization && model.holderOf(directory, person.email) === 'another') throw '403';
    if (!person.isActive) {
      const { keptOutBy } = person;
      const isByAFormerOwner =
        keptOutBy !== null && model.vouches(directory, person.email) && !model.vouches(keptOutBy, person.email);
      const may = !isOrganization || person.user.isSuspended || keptOutBy === directory || isByAFormerOwner;
      if (!may) throw '403';
      model.setActive(person, true);
    }
    if (isOrganization) model.join(person, directory);
    person.user.isSuspended = false;
  }

  function move(directory: DirectoryId, person: Person, to: string, at: number): void {
    if (model.people.some((one) => one !== person && isSame(one.email, to))) throw '409 uniqueness';
    person.email = to;
    const isVouchedFor = model.vouches(directory, to);
    if (isVouchedFor && person.verifiedAt === null) model.prove(person, at, false);
    else person.verifiedAt = isVouchedFor ? at : null;
  }

  function seen(directory: DirectoryId, id: string): Person {
    const person = model.person(id);
    if (!person || !model.isSeenBy(directory, person)) throw '404';
    return person;
  }

  return {
    seen,
    adopt,

    /** @param id of the person, if they are new */
    create(directory: DirectoryId, wanted: WantedUser, { id, at }: { id: string; at: number }): void {
      const { email, firstName, lastName, userName, externalId, title, department, emails } = wanted;
      if (!email.includes('@')) throw '400 invalidValue';
      assertNameIsFree(directory, userName);
      const holder = model.holderOf(directory, email);
      if (holder === 'another') throw '409 uniqueness';
      const known = model.byEmail(email);
      if (known && (model.isBeingErased(known) || holder !== 'owner')) throw '409 uniqueness';
      const isNewHere = !known || known.joinedAt === null;
      const person = known ?? newPerson({ id, email, firstName, lastName, verifiedAt: holder === 'owner' ? at : null });
      if (!known) model.people.push(person);
      if (isNewHere) model.joinEnvironment(person, at);
      else if (model.isIn(directory, person)) throw '409 uniqueness';
      else takeOver(person, '409 uniqueness');
      const contents = { userName, externalId, title, department, emails };
      person.user = { directory, ...contents, made: isNewHere, isSuspended: false };
      if (known)
        Object.assign(person, { firstName: firstName ?? known.firstName, lastName: lastName ?? known.lastName });
      if (model.isOrganization(directory)) model.join(person, directory);
      if (wanted.active === true) activate(directory, person);
      if (wanted.active === false) deactivate(directory, person);
    },

    update(
      directory: DirectoryId,
      id: string,
      change: (before: WantedUser) => WantedUser,
      { isWhole, at }: { isWhole: boolean; at: number },
    ): void {
      const person = seen(directory, id);
      const wanted = change(contentsOf(directory, person));
      if (!wanted.email.includes('@')) throw '400 invalidValue';
      const made = adopt(directory, person);
      const isLeaving = wanted.active === false;
      const isRenamed = wanted.firstName !== person.firstName || wanted.lastName !== person.lastName;
      if (isRenamed && !mayRename(directory, person)) {
        if (!isLeaving && !isWhole) throw '403';
        Object.assign(wanted, { firstName: person.firstName, lastName: person.lastName });
      }
      if (!isSame(wanted.email, person.email)) {
        const may = mayMove(directory, person, wanted.email, made);
        if (!may && !isLeaving) throw '403';
        if (may) move(directory, person, wanted.email, at);
      } else person.email = wanted.email;
      assertNameIsFree(directory, wanted.userName, person);
      Object.assign(person, { firstName: wanted.firstName, lastName: wanted.lastName });
      const { userName, externalId, title, department, emails } = wanted;
      Object.assign(person.user as object, { userName, externalId, title, department, emails });
      if (wanted.active === true) activate(directory, person);
      if (wanted.active === false) deactivate(directory, person);
    },

    remove(directory: DirectoryId, id: string): void {
      const person = seen(directory, id);
      const made = adopt(directory, person);
      const isOfAnother = model.holderOf(directory, person.email) === 'another';
      const isWhole = made && !model.isElsewhere(directory, person) && !isOfAnother;
      if (!model.isOrganization(directory) || isWhole) {
        model.leaveEnvironment(person);
        return;
      }
      model.stopProvisioning(person);
      leaveOrganization(directory, person);
      model.leaveGroups(person);
    },

    /** Adds members to a group, in no order: the refusals that are possible, with a bar between them. */
    addMembers(directory: DirectoryId, groupId: string, ids: readonly string[]): void {
      const refusals = new Set<string>();
      for (const id of ids) {
        try {
          const person = model.person(id);
          if (!person || !model.isSeenBy(directory, person)) throw '400 invalidValue';
          adopt(directory, person);
        } catch (refusal) {
          refusals.add(refusal as string);
        }
      }
      if (refusals.size > 0) throw [...refusals].join('|');
      const group = model.groups.find((one) => one.id === groupId);
      if (group) group.members = [...new Set([...group.members, ...ids])];
    },
  };
}

export type DirectoryRules = ReturnType<typeof createDirectoryRules>;

/** A person of the Account's directory who is no member of anything yet. */
export const newPerson = (more: Partial<Person> & Pick<Person, 'id' | 'email'>): Person => ({
  verifiedAt: null,
  isAsserted: false,
  hasPassword: false,
  firstName: null,
  lastName: null,
  joinedAt: null,
  isActive: true,
  keptOutBy: null,
  isInProduction: false,
  wasSignedIn: false,
  isSignedIn: false,
  user: null,
  ...more,
});
