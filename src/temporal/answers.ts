import { randomUUID } from 'node:crypto';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import type {
  AccountIntentInput,
  RegistrationVerificationInput,
  SsoDomainVerificationInput,
} from '../../workflows/inputs.js';
import type { ConfirmedRegistration } from '../../workflows/registration-verification.js';
import type { ProvisionedIntent } from '../domain/account-intents/provision.js';
import { DomainError } from '../domain/errors.js';
import type { DomainLook } from '../domain/sso-domains/checks.js';
import { type ProcessInput, type ProcessName, startOptions } from '../platform/process-kinds.js';
import { hasEnded } from './errors.js';

export interface Waits {
  /** How long a caller waits for Temporal to answer at all. */
  answerWithinMs?: number;
  /** And for a worker to finish what it accepted. */
  finishWithinMs?: number;
}

interface AskedUpdate {
  update: string;
  updateId: string;
  args: unknown[];
  /** Instead of `answerWithinMs`. */
  acceptWithinMs?: number;
  /** Whether one that has come to its end is begun anew to answer. */
  mayHaveEnded?: boolean;
}

/** How long Temporal has to take an update of which somebody else can do the work. */
const soonMs = 2_000;

/** What is asked of processes by updates, and waited for. */
export function createAnswers(
  client: Client,
  within: <T>(ms: number, call: () => Promise<T>) => Promise<T>,
  { answerWithinMs, finishWithinMs }: Required<Waits>,
) {
  /** What a process answers to an update; starts it where the relay has not done so yet. */
  const answerOf = async <Answer>(
    name: ProcessName,
    input: ProcessInput<ProcessName>,
    { update, updateId, args, acceptWithinMs = answerWithinMs, mayHaveEnded = false }: AskedUpdate,
  ): Promise<Answer> => {
    const accepted = await within(acceptWithinMs, () => {
      const start = new WithStartWorkflowOperation<Workflow>(name, {
        ...startOptions(name, input),
        // One that somebody terminated may run again: the row decides whether there is anything left to do.
        workflowIdReusePolicy: mayHaveEnded ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      });
      start.workflowHandle().catch(() => undefined); // the update's own error says it
      const options = { startWorkflowOperation: start, waitForStage: 'ACCEPTED', updateId, args } as const;
      return client.workflow.startUpdateWithStart<Workflow, Answer, unknown[]>(update, options);
    });
    return await within(finishWithinMs, () => accepted.result());
  };

  return {
    /**
     * Confirms a registration and waits for what was created; starts its process where the relay has not done so yet.
     * @throws DomainError `registration.link_invalid`, or `service.unavailable`: the link is good for another try
     */
    async confirmRegistration(input: RegistrationVerificationInput): Promise<ConfirmedRegistration> {
      try {
        // One id for each repetition, so that a lost answer is found again.
        return await answerOf<ConfirmedRegistration>('registrationVerification', input, {
          update: 'confirm',
          updateId: randomUUID(),
          args: [],
        });
      } catch (error) {
        throw hasEnded(error) ? new DomainError('registration.link_invalid', { cause: error }) : error;
      }
    },

    /**
     * Claims a parked wish for an Account and waits for what was created. The same request may ask again.
     * @throws DomainError `account_intent.not_found`, the reason why there is no Account, or `service.unavailable`
     */
    async resumeAccountIntent(input: AccountIntentInput, claimId: string): Promise<ProvisionedIntent> {
      try {
        return await answerOf<ProvisionedIntent>('accountIntent', input, {
          update: 'resume',
          updateId: claimId,
          args: [claimId],
        });
      } catch (error) {
        throw hasEnded(error) ? new DomainError('account_intent.not_found', { cause: error }) : error;
      }
    },

    /**
     * Has the zone of a claimed domain asked now, and waits until its row says what came of it. A process that has ended
     * looks once more, and goes on where there is something to look after.
     * @throws DomainError `service.unavailable` soon: whoever asks can look for themselves
     */
    checkDomain: (input: SsoDomainVerificationInput): Promise<DomainLook> =>
      answerOf<DomainLook>('ssoDomainVerification', input, {
        update: 'checkNow',
        updateId: randomUUID(),
        args: [],
        acceptWithinMs: soonMs,
        mayHaveEnded: true,
      }),
  };
}
