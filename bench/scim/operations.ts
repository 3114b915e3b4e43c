import type { Operation } from '../closed-loop.js';
import { type Connection, expectContent, expectStatus, jsonOf } from '../connection.js';
import { addressOf, externalIdOf, groupNameOf, otherAddressOf, partOfNameOf, type ScimSeed } from './seed.js';

/** Makes the operation that a worker repeats on its connection. */
export type ScimWork = (connection: Connection, worker: { index: number; of: number }) => Operation;

interface Listed {
  totalResults: number;
  Resources: { id: string }[];
}

/** Returns the requests by name; reads come before writes, so that they read the data as seeded. */
export function createScimWork(seed: ScimSeed): Record<string, ScimWork> {
  const headers = { authorization: `Bearer ${seed.token}` };
  const anybody = () => Math.floor(Math.random() * seed.people);
  const read = async (connection: Connection, path: string) =>
    jsonOf<Listed>(await connection.get(`/scim/v2${path}`, headers));
  const list =
    (query: () => string, isRight: (listed: Listed) => boolean): ScimWork =>
    (connection) =>
    async () =>
      expectContent(isRight(await read(connection, query())), 'who was asked for');
  const found = (kind: 'Users' | 'Groups', filter: () => string) =>
    list(
      () => `/${kind}?excludedAttributes=members&filter=${encodeURIComponent(filter())}`,
      ({ totalResults, Resources }) => totalResults === 1 && Resources.length === 1,
    );
  const page = (query: string) =>
    list(
      () => `/Users?${query}`,
      ({ Resources }) => Resources.length === 100,
    );
  const large =
    (query: string): ScimWork =>
    (connection) =>
    async () => {
      expectStatus(await connection.get(`/scim/v2/Groups/${seed.largeGroupId}${query}`, headers), 200);
    };
  return {
    'userName eq': found('Users', () => `userName eq "${addressOf(anybody())}"`),
    'externalId eq': found('Users', () => `externalId eq "${externalIdOf(anybody())}"`),
    'emails.value eq': found('Users', () => `emails.value eq "${addressOf(anybody())}"`),
    'emails.value eq, not the main one': found('Users', () => `emails[value eq "${otherAddressOf(anybody())}"]`),
    'displayName co': found('Users', () => `displayName co "${partOfNameOf(anybody())}"`),
    'userName sw, everybody': list(
      () => '/Users?filter=userName%20sw%20%22p%22',
      ({ totalResults }) => totalResults >= seed.people,
    ),
    'Groups: displayName eq': found(
      'Groups',
      () => `displayName eq "${groupNameOf(Math.floor(Math.random() * 1000))}"`,
    ),
    'first page of 100': page('count=100'),
    'last page of 100': page(`count=100&startIndex=${seed.people - 99}`),
    'group of 20 000 without members': large('?excludedAttributes=members'),
    'group of 20 000': large(''),
    'PATCH of it: add a member, or remove': comeAndGo(seed, headers),
    'PATCH active': activate(seed, headers),
    create: newcomers(headers),
  };
}

const patchOf = (...operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations: operations,
});

/** Removes a person from a group and adds them again; each worker has its own people. */
const comeAndGo =
  (seed: ScimSeed, headers: Record<string, string>): ScimWork =>
  (connection, { index }) => {
    const id = seed.userIds[index];
    let isIn = true;
    return async () => {
      const operation = isIn
        ? { op: 'remove', path: `members[value eq "${id}"]` }
        : { op: 'add', path: 'members', value: [{ value: id }] };
      const path = `/scim/v2/Groups/${seed.largeGroupId}`;
      expectStatus(await connection.patchJson(path, patchOf(operation), headers), 204);
      isIn = !isIn;
    };
  };

/** Deactivates people and activates them again; each worker has its own people. */
const activate =
  (seed: ScimSeed, headers: Record<string, string>): ScimWork =>
  (connection, { index, of }) => {
    let turn = 0;
    const each = Math.floor(seed.people / of);
    return async () => {
      const id = seed.userIds[index + (turn % each) * of];
      const active = Math.floor(turn++ / each) % 2 === 1;
      const answer = await connection.patchJson(
        `/scim/v2/Users/${id}`,
        patchOf({ op: 'replace', path: 'active', value: active }),
        headers,
      );
      expectContent(jsonOf(answer).active === active, 'what was changed');
    };
  };

const newcomers =
  (headers: Record<string, string>): ScimWork =>
  (connection, { index }) => {
    const run = Date.now();
    let count = 0;
    return async () => {
      const userName = `new-${run}-${index}-${count++}@people.example`;
      const body = {
        userName,
        externalId: userName,
        displayName: 'New',
        name: { givenName: 'New', familyName: 'Comer' },
      };
      expectStatus(await connection.postJson('/scim/v2/Users', body, headers), 201);
    };
  };
