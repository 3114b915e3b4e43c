import type { WorkflowStartOptions } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import {
  accountIntentId,
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

/** The workflows that a change can ask for through the outbox, and what each is told: ids and times only. */
export interface ProcessInputs {
  registrationVerification: RegistrationVerificationInput;
  accountIntent: AccountIntentInput;
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
 * What somebody waits for has queues of its own: a code is not behind a thousand invites, nor a registration behind a thousand roles that
 * end at one moment. So have erasures and removals of Environments, which nobody waits for and of which a customer may ask for hundreds.
 * Workers serve a new queue one version before anything begins there, so that going back by one works (docs/decisions/0092).
 */
export type TaskQueue = 'processes' | 'registrations' | 'removals' | 'email' | 'awaited-email' | 'webhooks' | 'dns';

interface ProcessKind<Input> {
  taskQueue: TaskQueue | ((input: Input) => TaskQueue);
  /** The same input always gives the same id, so that starting twice is starting once. */
  id(input: Input): string;
  summary: string;
  firstState: string;
  /**
   * For one that support can have done again: a run that failed does not keep the next one from starting, or none does that has ended.
   * Each run asks its row first, so that one too many does nothing.
   */
  mayRunAgain?: 'after failure' | 'always';
  /** What an input tells the process that runs by now, instead of starting it. */
  news?(input: Input): ProcessNews | null;
  about(input: Input): { subjectId?: string; accountId?: string | null; environmentId?: string | null };
}

/** A signal. With `starts` it begins a run where none is left; otherwise there is nobody left to tell. */
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
    mayRunAgain: 'after failure', // its row says how far it has come
    about: (input) => ({ subjectId: input.intentId }),
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
    mayRunAgain: 'after failure', // support may have a failed one tried again; of any other the row says that it has ended
    about: (input) => ({ subjectId: input.subjectId ?? input.emailId, ...input }),
  },
  environmentRemoval: {
    taskQueue: 'removals',
    id: (input) => environmentRemovalId(input.removalId),
    summary: 'What was in an environment is being deleted',
    firstState: 'deleting_contents',
    mayRunAgain: 'always', // a cancelled one is taken up where it stopped, whether its run was cancelled or saw the row first
    about: ({ environmentId, accountId }) => ({ subjectId: environmentId, accountId, environmentId }),
  },
  mfaGrace: {
    taskQueue: 'processes',
    id: ({ environmentId, identityId }) => mfaGraceId(environmentId, identityId),
    summary: 'Somebody can still sign in without a second factor, until the grace period ends',
    firstState: 'running',
    // The row has moved already, and only a grace that begins anew needs a process where none is left.
    news: ({ news }) => (news ? { signal: news, args: [], starts: news === 'reset' } : null),
    about: ({ identityId, accountId, environmentId }) => ({ subjectId: identityId, accountId, environmentId }),
  },
  identityErasure: {
    taskQueue: 'removals',
    id: (input) => identityErasureId(input.erasureId),
    summary: 'An identity is being deleted, with everything about it',
    firstState: 'ending_sessions',
    mayRunAgain: 'always', // a cancelled one is taken up where it stopped, whether its run was cancelled or saw the row first
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
    // The row has moved already, and only a claim that begins anew needs a process where none is left.
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
    summary: 'An event on its way to a webhook receiver',
    firstState: 'pending',
    news: ({ news }) => (news ? { signal: news, args: [], starts: true } : null), // one that has ended is tried again
    about: ({ webhookId, accountId, environmentId }) => ({ subjectId: webhookId, accountId, environmentId }),
  },
};

/** Whether this version knows a process of that name; the outbox may hold one of a newer version. */
export const isProcessName = (name: string): name is ProcessName => Object.hasOwn(kinds, name);

/** Where a process is found in Temporal, whether or not it runs. */
export const workflowIdOf = <P extends ProcessName>(name: P, input: ProcessInput<P>): string =>
  (kinds[name] as ProcessKind<ProcessInputs[P]>).id(input);

/** After which runs the next one may start; `never` where one that has ended is the last. */
export const mayRunAgain = (name: ProcessName): 'never' | 'after failure' | 'always' =>
  kinds[name].mayRunAgain ?? 'never';

/** With what a process is started: its id, queue, summary and search attributes. */
export function startOptions<P extends ProcessName>(name: P, input: ProcessInput<P>) {
  const kind: ProcessKind<ProcessInputs[P]> = kinds[name];
  return {
    workflowId: kind.id(input),
    taskQueue: typeof kind.taskQueue === 'function' ? kind.taskQueue(input) : kind.taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: kind.summary,
    typedSearchAttributes: attributes(kind, input),
    // Accounts take turns in a queue, where the server has fairness on; its activities and later runs inherit it.
    priority: turnOf(kind.about(input)),
    args: [input] as [ProcessInput<P>],
  } satisfies WorkflowStartOptions<(input: ProcessInput<P>) => Promise<unknown>>;
}

const turnOf = ({ accountId }: { accountId?: string | null }) => (accountId ? { fairnessKey: accountId } : {});

/** What an input tells a process that runs; null: it starts one. */
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
