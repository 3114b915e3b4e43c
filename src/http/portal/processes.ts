import { Type } from 'typebox';
import type { LookedAtProcess, ShownProcess } from '../../domain/processes/account-processes.js';
import { kindNames, verbs, waitsFor } from '../../domain/processes/kind.js';
import { states } from '../../domain/processes/kinds.js';
import { durationPattern, parseDuration } from '../../platform/duration.js';
import type { AccountScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { always, listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Growing, Id, listOf, Nullable, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';
import { extenderOf, extensionOf } from './process-extension.js';

const Duration = (description: string) =>
  Type.String({ pattern: worded(durationPattern, 'must be a duration such as 30m, 12h or 7d'), description });

const fields = {
  id: Id,
  kind: Growing(kindNames),
  environment_id: Nullable(Id),
  subject_type: Type.String({
    description:
      'The kind of its subject: `administrator_invite`, `identity_invite`, `mfa_grace`, `identity`, `environment`, ' +
      '`webhook`, `oauth_client` (for a logout token), `sso_domain`, `other`.',
  }),
  subject_id: Id,
  state: Growing(states, 'The current state of its row in the database.'),
  waits_for: Nullable(Growing(waitsFor, 'Null once it has ended.')),
  since: Timestamp,
  next_wake_up: Nullable(
    Type.String({
      format: 'date-time',
      description: 'When it continues by itself. Null if only Temporal knows: see `temporal.pending`.',
    }),
  ),
  deadline: Nullable(Timestamp),
  created_at: Timestamp,
  ended_at: Nullable(Timestamp),
  ended_reason: Nullable(
    Type.String({ description: 'Why it has ended, or the last error. Never contains personal data.' }),
  ),
  workflow_id: Type.String({ description: 'Its workflow ID in Temporal.' }),
  verbs: Type.Array(OneOf(verbs), { description: 'What can be done with it in its current state.' }),
};
const ProcessView = Resource('Process', fields);
const Cancelled = Resource('CancelledProcess', {
  ...fields,
  workflow_end: OneOf(['cancel_requested', 'not_running', 'temporal_unavailable'], {
    description:
      'What became of the workflow. The process has ended in any case: a workflow that could not be notified finds out at ' +
      'its next step.',
  }),
});
const LookedAt = Resource('ProcessDetail', {
  ...fields,
  temporal_state: OneOf(['available', 'unknown', 'unavailable'], {
    description:
      '`unknown`: Temporal has no such workflow, not yet or no longer. `unavailable`: Temporal did not respond within two ' +
      'seconds.',
  }),
  temporal: Nullable(
    Type.Object({
      workflow_id: Type.String(),
      run_id: Type.String(),
      status: Type.String({
        description: 'For example `running`, `paused`, `completed`, `cancelled`, `terminated`, `failed`.',
      }),
      history_length: Type.Integer(),
      started_at: Timestamp,
      pending: Type.Array(
        Resource('PendingStep', {
          activity: Type.String(),
          attempt: Type.Integer(),
          last_failure: Nullable(Type.String({ description: 'The kind of failure, in names and codes.' })),
          next_attempt_at: Nullable(Timestamp),
        }),
        {
          description:
            'Steps that have begun and not finished. `workflow_task`: the next step of the workflow itself, tried before without ' +
            'success; messages to the workflow have no effect until it is done.',
        },
      ),
      url: Nullable(Type.String({ description: 'Its page in the Temporal UI, if `TEMPORAL_UI_URL` is set.' })),
    }),
  ),
});

const present = (process: ShownProcess) => ({
  id: process.id,
  kind: process.kind,
  environment_id: process.environmentId,
  subject_type: process.subjectType,
  subject_id: process.subjectId,
  state: process.state,
  waits_for: process.waitsFor,
  since: process.since,
  next_wake_up: process.nextWakeUp,
  deadline: process.deadline,
  created_at: process.createdAt,
  ended_at: process.endedAt,
  ended_reason: process.endedReason,
  workflow_id: process.workflowId,
  verbs: process.verbs,
});

const presentLook = (look: LookedAtProcess['temporal']) =>
  look && {
    workflow_id: look.workflowId,
    run_id: look.runId,
    status: look.status,
    history_length: look.historyLength,
    started_at: look.startedAt,
    pending: look.pending.map(({ activity, attempt, lastFailure, nextAttemptAt }) => ({
      activity,
      attempt,
      last_failure: lastFailure,
      next_attempt_at: nextAttemptAt,
    })),
    url: look.url,
  };

const common = { tag: 'Processes', level: 'account' } as const;
const one = { ...common, path: '/processes/:id', params: ById } as const;

/** Throws the 404 of a process, which comes before the 400 for the rest of the request. */
const exists = ({ services, scope, params }: { services: Services; scope: AccountScope; params: { id: string } }) =>
  services.accountProcesses.assertThere(scope, params.id);

export const listProcesses = operation({
  ...common,
  id: 'listProcesses',
  method: 'GET',
  path: '/processes',
  summary: 'List processes',
  description:
    'Includes invites, emails of the account, MFA grace periods, windows of role assignments, domain claims, webhook ' +
    'deliveries, and deletions of identities and environments. Processes that concern only a person, such as a ' +
    'registration, a password reset or a request for another account, are not included. Read from the database, so it ' +
    'works while Temporal is unavailable. `open=true` returns only processes in progress; `q` searches IDs and kind.',
  capability: 'processes.view',
  query: listQuery(['created_at'], {
    kind: Type.Optional(OneOf(kindNames)),
    state: Type.Optional(OneOf(states)),
    open: Type.Optional(Type.Boolean({ description: 'Whether it is still in progress.' })),
    subject_id: Type.Optional(Id),
    older_than: Type.Optional(Duration('Began at least this long ago, for example `30m`, `24h`, `7d`.')),
  }),
  answers: { 200: listOf(ProcessView) },
  isBroad: always,
  handle: async ({ services, scope, query }) => {
    const { sort_by: sortBy, subject_id: subjectId, older_than: olderThan, ...rest } = query;
    const olderThanMs = olderThan === undefined ? undefined : parseDuration(olderThan);
    return paginated(await services.accountProcesses.list(scope, { ...rest, sortBy, subjectId, olderThanMs }), present);
  },
});

export const getProcess = operation({
  ...one,
  id: 'getProcess',
  method: 'GET',
  summary: 'Get a process',
  description: 'Returns the state of its row, and what Temporal knows about its workflow.',
  capability: 'processes.view',
  answers: { 200: single(LookedAt), ...errors('process.not_found') },
  async handle({ services, scope, params }) {
    const { temporal, temporalState, ...process } = await services.accountProcesses.get(scope, params.id);
    return { data: { ...present(process), temporal_state: temporalState, temporal: presentLook(temporal) } };
  },
});

export const cancelProcess = operation({
  ...one,
  id: 'cancelProcess',
  method: 'POST',
  path: '/processes/:id/cancel',
  summary: 'Cancel a process',
  description:
    'Has the same effect as a cancellation in the Temporal UI: an invite is revoked; a domain claim fails, even a ' +
    'verified one; an email is not sent, unless it is already being sent; the reminders of a grace period stop, and its ' +
    'deadline stays; an erasure, or the removal of an environment, stops between two steps and lists what is left. It ' +
    'works while Temporal is unavailable. The `reason` is stored in the audit log as sent, and kept as long as that; do ' +
    'not include names.',
  capability: 'processes.manage',
  body: Body({ reason: Type.String({ minLength: 1, maxLength: 500, pattern: worded('\\S', 'must not be empty') }) }),
  events: [
    'process.cancelled',
    'administrator_invite.revoked',
    'identity_invite.revoked',
    'organization.invitation_revoked',
    'identity.erasure_cancelled',
    'environment.removal_cancelled',
    'role_assignment.window_cancelled',
    'auth.mfa_grace_cancelled',
    'sso.domain.failed',
  ],
  answers: {
    200: single(Cancelled),
    ...errors('process.not_found', 'process.not_running', 'process.verb_not_supported', 'validation.failed'),
  },
  exists,
  async handle({ services, scope, params, body }) {
    const { workflowEnd, ...process } = await services.accountProcesses.cancel(scope, params.id, body.reason.trim());
    return { data: { ...present(process), workflow_end: workflowEnd } };
  },
});

export const retryProcess = operation({
  ...one,
  id: 'retryProcess',
  method: 'POST',
  path: '/processes/:id/retry',
  summary: 'Retry a process',
  description:
    'A failed email is sent again, if it is still relevant. A cancelled grace period sends its remaining reminders; a ' +
    'cancelled erasure or removal of an environment continues where it stopped, an erasure only if nobody has added or ' +
    'activated the person since (`process.not_failed`). A failed or cancelled delivery is attempted once more if its ' +
    'webhook is active, or its client still receives logout tokens; a failed domain claim is checked again. While a ' +
    'cancelled run has not stopped yet, the response is 503.',
  capability: 'processes.manage',
  exists,
  events: ['process.retried', 'identity.erasure_requested'],
  answers: {
    200: single(ProcessView),
    ...errors(
      'process.not_found',
      'process.not_failed',
      'process.verb_not_supported',
      'oauth_client.without_logout_uri',
      'sso_domain.limit_reached',
      'webhook.not_found',
      'webhook.inactive',
      'webhook.too_many_attempts',
    ),
  },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.accountProcesses.retry(scope, params.id)),
  }),
});

const rights = [
  'account.capability_required',
  'administrator_role.cannot_grant',
  'member.owner_required',
  'process.not_found',
  'process.not_running',
  'process.verb_not_supported',
  'administrator_invite.role_deleted',
] as const;
const likeAnInvite =
  'This renews an offer of rights, so besides `processes.manage` it requires `members.manage`, and the rights that the ' +
  'invite grants.';

export const resendProcess = operation({
  ...one,
  id: 'resendProcess',
  method: 'POST',
  path: '/processes/:id/resend',
  summary: 'Resend the link of an invite',
  description: `Emails a new link with a new deadline; the previous link stops working. ${likeAnInvite}`,
  capability: 'processes.manage',
  exists,
  events: ['administrator_invite.resent', 'administrator_invite.expired'],
  answers: {
    200: single(ProcessView),
    ...errors(...rights, 'administrator_invite.already_pending', 'member.already_member'),
  },
  handle: async ({ services, scope, caller, params }) => ({
    data: present(await services.accountProcesses.resend(scope, extenderOf(caller), params.id)),
  }),
});

export const extendProcess = operation({
  ...one,
  id: 'extendProcess',
  method: 'POST',
  path: '/processes/:id/extend',
  summary: 'Extend the deadline of an invite',
  description:
    'Send either `expires_in` or `until`: later than the current deadline, and within 30 days. The link keeps working. ' +
    `${likeAnInvite}`,
  capability: 'processes.manage',
  body: Body({
    expires_in: Type.Optional(Duration('From now on, for example `3d`.')),
    until: Type.Optional(Timestamp),
  }),
  events: ['process.extended'],
  answers: { 200: single(ProcessView), ...errors(...rights, 'validation.failed') },
  exists,
  async handle({ services, scope, caller, params, body }) {
    const userId = extenderOf(caller);
    const extension = () => extensionOf(body);
    return { data: present(await services.accountProcesses.extend(scope, userId, params.id, extension)) };
  },
});
