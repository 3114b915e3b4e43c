import type { LightMyRequestResponse } from 'fastify';
import { hours } from '../../../src/platform/clock.js';
import { inviteId, mfaGraceId, roleAssignmentWindowId, ssoDomainId } from '../../../workflows/ids.js';
import type { Call } from '../calls.js';
import type { Random } from '../random.js';
import { type Row, unknown } from './subject.js';
import { gracesOf, type Place } from './windows.js';
import type { ProcessWorld } from './world.js';

/** What can be removed, with what waits there: nobody models that until it is over. */
interface Home {
  name: string;
  make(email: string): Promise<{
    /** Whose row is made by the removal; null: it is at once. */
    of: { table: 'erasures' | 'environment_removals'; column: string; id: string } | null;
    contents: Row[];
    end(): Promise<LightMyRequestResponse>;
  }>;
}

/** A person with a role and a grace for a time, an Environment with an invite, and an organization with all that can wait in one. */
export function newHomes(
  world: ProcessWorld,
  random: Random,
  owner: Call,
  { environments, path, scope, roleId }: Place,
): Record<'person' | 'environment' | 'organization', Home> {
  const graces = gracesOf(world);
  async function made(at: string, payload: object) {
    const answer = await owner('POST', at, payload);
    if (answer.statusCode !== 201) throw new Error(answer.body);
    return answer.json().data;
  }
  const waiting = (table: string, id: string, workflowId: string): Row => ({
    ...{ table, id, workflowId, status: unknown, events: [], mails: [] },
    stop: () => undefined,
  });
  async function windowOf(person: string, more: object): Promise<Row> {
    const effective_to = new Date(world.now() + hours(200)).toISOString();
    const role = { role_id: roleId, effective_to, notify_holder: true, ...more };
    const { assignment_id: id } = await made(`${path}/identities/${person}/role-assignments`, role);
    return waiting('role_assignment_windows', id, roleAssignmentWindowId(id));
  }
  const inviteTo = async (at: string, email: string): Promise<Row> => {
    const { id } = await made(at, { email: `of.${email}`, first_name: 'Ivo' });
    return waiting('identity_invites', id, inviteId(id));
  };

  return {
    person: {
      name: 'a person',
      async make(email) {
        const { id } = await made(`${path}/identities`, { email, first_name: 'Ida' });
        await graces.start(scope, id, 5);
        const text = 'select id from mfa_graces where identity_id = $1';
        const graceId = (await world.query<{ id: string }>(text, id))[0]?.id ?? '';
        const grace = waiting('mfa_graces', graceId, mfaGraceId(scope.environmentId, id));
        const window = await windowOf(id, {});
        return {
          of: { table: 'erasures', column: 'identity_id', id },
          contents: [grace, window],
          async end() {
            // Both end with the request.
            grace.status = 'gone';
            window.status = 'removed';
            return owner('DELETE', `/identities/${id}`);
          },
        };
      },
    },
    environment: {
      name: 'an Environment',
      async make(email) {
        const slug = `e-${random.below(1e9)}`;
        const { id } = await made(environments, { name: slug, slug, type: 'development' });
        await made(`${environments}/${slug}/identities`, { email, first_name: 'Udo' });
        return {
          of: { table: 'environment_removals', column: 'environment_id', id },
          contents: [await inviteTo(`${environments}/${slug}/identity-invites`, email)],
          end: () => owner('DELETE', `${environments}/${slug}?confirm=${slug}`),
        };
      },
    },
    organization: {
      name: 'an organization',
      async make(email) {
        const { id, version } = await made(`${path}/organizations`, { name: `Group ${random.below(1e9)}` });
        const at = `${path}/organizations/${id}`;
        const person = await made(`${path}/identities`, { email, first_name: 'Ida' });
        const domain = await made(`${at}/domains`, { domain: `o-${random.below(1e9)}.private.example` });
        const invite = await inviteTo(`${at}/invitations`, email);
        const claim = waiting('sso_domains', domain.id, ssoDomainId(domain.id));
        const window = await windowOf(person.id, { node_id: id });
        return {
          of: null,
          contents: [invite, claim, window],
          async end() {
            invite.status = 'revoked'; // the event is of the organization
            for (const one of [claim, window]) one.status = 'gone';
            return owner('DELETE', at, undefined, { 'if-match': String(version) });
          },
        };
      },
    },
  };
}
