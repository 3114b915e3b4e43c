import type { WorkflowStartOptions } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import {
  accountIntentId,
  emailChangeId,
  emailId,
  environmentRemovalId,
  identityErasureId,
  inviteId,
  mfaGraceId,
  registrationId,
  roleAssignmentWindowId,
  ssoDomainId,
  webhookDeliveryId,
} from '../../workflows/ids.js';
import type {
  AccountIntentInput,
  EmailChangeInput,
  EmailDeliveryInput,
  EnvironmentRemovalInput,
  IdentityErasureInput,
  InviteExpiryInput,
  MfaGraceInput,
  RegistrationVerificationInput,
  RoleAssignmentWindowInput,
  SsoDomainVerificationInput,
  WebhookDeliveryInput,
} from '../../workflows/inputs.js';
import { accountIdKey, environmentIdKey, stateKey, subjectIdKey } from '../../workflows/search-attributes.js';

/** The workflows that a change can start through the outbox, and their inputs: only ids and times. */
export interface ProcessInputs {
  registrationVerification: RegistrationVerificationInput;
  accountIntent: AccountIntentInput;
  emailChange: EmailChangeInput;
  inviteExpiry: InviteExpiryInput;
  emailDelivery: EmailDeliveryInput;
  environmentRemoval: EnvironmentRemovalInput;
  mfaGrace: MfaGraceInput;
  identityErasure: IdentityErasureInput;
  roleAssignmentWindow: RoleAssignmentWindowInput;
  ssoDomainVerification: SsoDomainVerificationInput;
  webhookDelivery: WebhookDeliveryInput;
}
export type ProcessName = keyof ProcessInputs;
export type ProcessInput<P extends ProcessName> = ProcessInputs[P];

/**
 * Work that somebody waits for has its own queues: a code does not queue behind a thousand invites, nor a registration
 * behind a thousand roles that end at one moment. So do erasures and removals of Environments, which nobody waits for
 * and of which a customer may request hundreds. Workers serve a new queue one version before anything is started there,
 * so that going back by one version works (docs/decisions/0092).
 */
export type TaskQueue = 'processes' | 'registrations' | 'removals' | 'email' | 'awaited-email' | 'webhooks' | 'dns';

interface ProcessKind<Input> {
  taskQueue: TaskQueue | ((input: Input) => TaskQueue);
  /** Returns the same id for the same input, so that starting twice starts once. */
  id(input: Input): string;
  summary: string | ((input: Input) => string);
  firstState: string;
  /**
   * Set where support can have a process run again: after a run that failed, or after any run that has ended. Each run
   * reads its row first, so a superfluous one does nothing.
   */
  mayRunAgain?: 'after failure' | 'always';
  /** Returns the signal that an input sends to the process that runs already, instead of starting it. */
  news?(input: Input): ProcessNews | null;
  about(input: Input): { subjectId?: string; accountId?: string | null; environmentId?: string | null };
}

/** A signal. With `starts` it starts a run if none is running; otherwise the signal is then pointless. */
export interface ProcessNews {
  signal: string;
  args: unknown[];
  starts: boolean;
}

const kinds: { [P in ProcessName]: ProcessKind<ProcessInputs[P]> } = {
  registrationVerification: {
    taskQueue: 'registrations',
    id: (input) => registrationId(input.pendingRegistrationId),
    summary: 'A registration waits for its email address to be confirmed',
    firstState: 'waiting',
    news: ({ news }) => (news ? { signal: news, args: [], starts: false } : null),
    about: (input) => ({ subjectId: input.pendingRegistrationId }),
  },
  accountIntent: {
    taskQueue: 'registrations',
    id: (input) => accountIntentId(input.intentId),
    summary: 'A requested account waits for its owner to sign in and resume its creation',
    firstState: 'parked',
    mayRunAgain: 'after failure', // its row records how far it got
    about: (input) => ({ subjectId: input.intentId }),
  },
  emailChange: {
    taskQueue: 'registrations',
    id: (input) => emailChangeId(input.changeId),
    summary: 'The new address of an administrator waits to be confirmed',
    firstState: 'waiting',
    news: ({ news }) => (news ? { signal: news, args: [], starts: false } : null),
    about: (input) => ({ subjectId: input.changeId }),
  },
  inviteExpiry: {
    taskQueue: 'processes',
    id: (input) => inviteId(input.inviteId),
    summary: 'An invite waits to be accepted',
    firstState: 'waiting',
    news: ({ news, expiresAt, reminderAt }) =>
      news === 'resent'
        ? { signal: news, args: [{ expiresAt, reminderAt }], starts: true }
        : news
          ? { signal: news, args: [], starts: false }
          : null,
    about: (input) => ({ ...input, subjectId: input.inviteId }),
  },
  emailDelivery: {
    taskQueue: ({ isAwaited }) => (isAwaited ? 'awaited-email' : 'email'),
    id: (input) => emailId(input.emailId),
    summary: 'An email on its way to the SMTP server',
    firstState: 'sending',
    mayRunAgain: 'after failure', // a message of the previous release that retries it; any other row says that it has ended
    news: ({ news }) => (news ? { signal: news, args: [], starts: true } : null), // a failed one is sent again
    about: (input) => ({ subjectId: input.subjectId ?? input.emailId, ...input }),
  },
  environmentRemoval: {
    taskQueue: 'removals',
    id: (input) => environmentRemovalId(input.removalId),
    summary: 'What was in an environment is being deleted',
    firstState: 'deleting_contents',
    mayRunAgain: 'always', // a cancelled one resumes where it stopped: its run was cancelled, or saw the row and ended
    about: ({ environmentId, accountId }) => ({ subjectId: environmentId, accountId, environmentId }),
  },
  mfaGrace: {
    taskQueue: 'processes',
    id: ({ environmentId, identityId }) => mfaGraceId(environmentId, identityId),
    summary: 'Somebody can still sign in without a second factor, until the grace period ends',
    firstState: 'running',
    // The row has changed already; only a grace period that starts again needs a process if none runs.
    news: ({ news }) => (news ? { signal: news, args: [], starts: news === 'reset' } : null),
    about: ({ identityId, accountId, environmentId }) => ({ subjectId: identityId, accountId, environmentId }),
  },
  identityErasure: {
    taskQueue: 'removals',
    id: (input) => identityErasureId(input.erasureId),
    summary: 'An identity is being deleted, with everything about it',
    firstState: 'ending_sessions',
    mayRunAgain: 'always', // a cancelled one resumes where it stopped: its run was cancelled, or saw the row and ended
    about: ({ identityId, accountId }) => ({ subjectId: identityId, accountId }),
  },
  roleAssignmentWindow: {
    taskQueue: 'processes',
    id: ({ assignmentId }) => roleAssignmentWindowId(assignmentId),
    summary: 'A role is held for a limited time, with events at its start and end',
    firstState: 'running',
    news: ({ news }) => (news ? { signal: 'changed', args: [], starts: news === 'resumed' } : null),
    about: ({ identityId, accountId, environmentId }) => ({ subjectId: identityId, accountId, environmentId }),
  },
  ssoDomainVerification: {
    taskQueue: 'dns',
    id: ({ claimId }) => ssoDomainId(claimId),
    summary: 'The DNS record of a claimed domain is looked for, then checked for as long as the domain counts',
    firstState: 'pending',
    // The row has changed already; only a claim that starts again needs a process if none runs.
    news: ({ news }) =>
      news === 'claimed_again'
        ? { signal: 'claimedAgain', args: [], starts: true }
        : news
          ? { signal: 'released', args: [], starts: false }
          : null,
    about: ({ claimId, accountId, environmentId }) => ({ subjectId: claimId, accountId, environmentId }),
  },
  webhookDelivery: {
    taskQueue: 'webhooks',
    id: ({ deliveryId }) => webhookDeliveryId(deliveryId),
    summary: ({ receiver }) =>
      receiver === 'client' ? 'A logout token on its way to a client' : 'An event on its way to a webhook receiver',
    firstState: 'pending',
    news: ({ news }) => (news ? { signal: news, args: [], starts: true } : null), // an ended delivery is tried again
    about: ({ webhookId, accountId, environmentId }) => ({ subjectId: webhookId, accountId, environmentId }),
  },
};

/** Whether this version has a process of that name; the outbox may hold one of a newer version. */
export const isProcessName = (name: string): name is ProcessName => Object.hasOwn(kinds, name);

/** Returns the id of a process in Temporal, whether or not it runs. */
export const workflowIdOf = <P extends ProcessName>(name: P, input: ProcessInput<P>): string =>
  (kinds[name] as ProcessKind<ProcessInputs[P]>).id(input);

/** Returns after which runs another may start; `never`: a run that has ended is the last. */
export const mayRunAgain = (name: ProcessName): 'never' | 'after failure' | 'always' =>
  kinds[name].mayRunAgain ?? 'never';

/** Returns how a process is started: its id, queue, summary and search attributes. */
export function startOptions<P extends ProcessName>(name: P, input: ProcessInput<P>) {
  const kind: ProcessKind<ProcessInputs[P]> = kinds[name];
  return {
    workflowId: kind.id(input),
    taskQueue: typeof kind.taskQueue === 'function' ? kind.taskQueue(input) : kind.taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: typeof kind.summary === 'function' ? kind.summary(input) : kind.summary,
    typedSearchAttributes: attributes(kind, input),
    // Accounts take turns in a queue if the server has fairness on; the activities and later runs inherit the key.
    priority: priorityOf(kind.about(input)),
    args: [input] as [ProcessInput<P>],
  } satisfies WorkflowStartOptions<(input: ProcessInput<P>) => Promise<unknown>>;
}

const priorityOf = ({ accountId }: { accountId?: string | null }) => (accountId ? { fairnessKey: accountId } : {});

/** Returns the signal that an input sends to a running process; null if it starts one. */
export const newsFor = <P extends ProcessName>(name: P, input: ProcessInput<P>): ProcessNews | null =>
  (kinds[name] as ProcessKind<ProcessInputs[P]>).news?.(input) ?? null;

function attributes<Input>({ about, firstState }: ProcessKind<Input>, input: Input): SearchAttributePair[] {
  const { subjectId, accountId, environmentId } = about(input);
  const pairs: SearchAttributePair[] = [{ key: stateKey, value: firstState }];
  if (subjectId) pairs.push({ key: subjectIdKey, value: subjectId });
  if (accountId) pairs.push({ key: accountIdKey, value: accountId });
  if (environmentId) pairs.push({ key: environmentIdKey, value: environmentId });
  return pairs;
}
