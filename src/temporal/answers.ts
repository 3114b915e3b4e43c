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
  /** How long a caller waits until Temporal answers at all. */
  answerWithinMs?: number;
  /** How long a caller waits until a worker finishes the update that it accepted. */
  finishWithinMs?: number;
}

interface AskedUpdate {
  update: string;
  updateId: string;
  args: unknown[];
  /** Instead of `answerWithinMs`. */
  acceptWithinMs?: number;
  /** Whether a workflow that has completed is started again to answer. */
  mayHaveEnded?: boolean;
}

/** How long Temporal may take to accept an update if the caller can do its work otherwise. */
const soonMs = 2_000;

/** Returns the functions that send an update to a process, and wait for its result. */
export function createAnswers(
  client: Client,
  within: <T>(ms: number, call: () => Promise<T>) => Promise<T>,
  { answerWithinMs, finishWithinMs }: Required<Waits>,
) {
  /** Sends an update, and returns its result; starts the process if the relay has not done so yet. */
  const answerOf = async <Answer>(
    name: ProcessName,
    input: ProcessInput<ProcessName>,
    { update, updateId, args, acceptWithinMs = answerWithinMs, mayHaveEnded = false }: AskedUpdate,
  ): Promise<Answer> => {
    const accepted = await within(acceptWithinMs, () => {
      const start = new WithStartWorkflowOperation<Workflow>(name, {
        ...startOptions(name, input),
        // A terminated workflow may run again: the row decides whether anything is left to do.
        workflowIdReusePolicy: mayHaveEnded ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      });
      start.workflowHandle().catch(() => undefined); // the update reports the same error
      const options = { startWorkflowOperation: start, waitForStage: 'ACCEPTED', updateId, args } as const;
      return client.workflow.startUpdateWithStart<Workflow, Answer, unknown[]>(update, options);
    });
    return await within(finishWithinMs, () => accepted.result());
  };

  return {
    /**
     * Confirms a registration and waits for what it creates; starts its process if the relay has not done so yet.
     * @throws DomainError `registration.link_invalid`, or `service.unavailable`: then the link can be tried again
     */
    async confirmRegistration(input: RegistrationVerificationInput): Promise<ConfirmedRegistration> {
      try {
        // All repetitions of the call have the same id, so that a lost answer is found again.
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
     * Claims a parked request for an Account and waits for what it creates. May be called again with the same claim.
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
     * Makes the process of a claimed domain query DNS now, and waits until the row has the result. A process that has
     * ended runs once more, and continues if there is something to watch.
     * @param endedAt the end of the claim that its caller has seen, in ISO 8601
     * @throws DomainError `service.unavailable` after two seconds: the caller can query DNS itself
     */
    checkDomain: (input: SsoDomainVerificationInput, endedAt: string | null): Promise<DomainLook> =>
      answerOf<DomainLook>('ssoDomainVerification', input, {
        update: 'checkNow',
        updateId: randomUUID(),
        args: [endedAt],
        acceptWithinMs: soonMs,
        mayHaveEnded: true,
      }),
  };
}
