import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { type ActivityInterceptorsFactory, Worker } from '@temporalio/worker';
import { crashFolder, type Death, stillPlanned } from './plan.js';

/**
 * The worker, except that it dies after the steps that a test names. Such an activity runs to its end and commits its
 * effect, but Temporal never receives the result, which is the worst moment. A run dies once at each step.
 */

const folder = crashFolder(process.env.GATEHOUSE_CRASH_FOLDER as string);
/** Steps that end within this time die together. */
const togetherMs = 500;

const plan = folder.plan();
const deaths = folder.deaths();
let mailsOnTheirWay = 0;
let dying = false;

async function die(): Promise<void> {
  dying = true;
  await sleep(togetherMs);
  // Dying between the mail server's answer and the row's update may repeat a mail, which another test covers.
  while (mailsOnTheirWay > 0) await sleep(5);
  process.kill(process.pid, 'SIGKILL');
}

function isPlanned({ workflowId, activity, step }: Death): boolean {
  const before = deaths.some((death) => death.workflowId === workflowId && death.step === step);
  return !before && stillPlanned(plan[workflowId] ?? [], workflowId, deaths).includes(activity);
}

/** Whether an activity is finished; after an outage, Temporal tries it again. */
const isEnd = (outcome: PromiseSettledResult<unknown>) =>
  outcome.status === 'fulfilled' ||
  (outcome.reason instanceof ApplicationFailure && outcome.reason.nonRetryable === true);

const crash: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    async execute(input, next) {
      const { activityType: activity, activityId: step, workflowExecution, workflowType: workflow = '' } = info;
      const weight = activity === 'sendEmail' ? 1 : 0;
      mailsOnTheirWay += weight;
      const [outcome] = await Promise.allSettled([next(input)]);
      mailsOnTheirWay -= weight;
      const death: Death = { workflowId: workflowExecution?.workflowId ?? '', workflow, activity, step };
      if (isEnd(outcome) && isPlanned(death)) {
        folder.note(death);
        deaths.push(death);
        if (!dying) void die();
        return new Promise(() => undefined); // no answer may leave after this
      }
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    },
  },
});

const { create } = Worker;
Worker.create = (options) => {
  const { interceptors } = options;
  const activity = [...(interceptors?.activity ?? []), crash];
  // Workflows run in the process's thread: the process starts dozens of times, and twice as fast without their threads.
  return create.call(Worker, { ...options, debugMode: true, interceptors: { ...interceptors, activity } });
};
await import('../../../src/worker.js');
