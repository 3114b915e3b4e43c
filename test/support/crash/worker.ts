import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { type ActivityInterceptorsFactory, Worker } from '@temporalio/worker';
import { crashFolder, type Death, stillPlanned } from './plan.js';

/**
 * The worker, as it is started, but for one thing: it dies after the steps that a test names. Such an activity runs to its
 * end, its effect is committed, and Temporal never hears of it, which is the worst moment. A run dies once at each step.
 */

const folder = crashFolder(process.env.GATEHOUSE_CRASH_FOLDER as string);
/** Steps that end within this long die together. */
const togetherMs = 500;

const plan = folder.plan();
const deaths = folder.deaths();
let mailsOnTheirWay = 0;
let dying = false;

async function die(): Promise<void> {
  dying = true;
  await sleep(togetherMs);
  // Between the mail server's word and the row's a mail may come twice. That is another test's.
  while (mailsOnTheirWay > 0) await sleep(5);
  process.kill(process.pid, 'SIGKILL');
}

function isPlanned({ workflowId, activity, step }: Death): boolean {
  const before = deaths.some((death) => death.workflowId === workflowId && death.step === step);
  return !before && stillPlanned(plan[workflowId] ?? [], workflowId, deaths).includes(activity);
}

/** Over for good; an outage is not, after which the activity is tried again. */
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
        return new Promise(() => undefined); // no answer may leave any more
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
  // Workflows share the thread of the process: it starts some dozen times, and threads of theirs take half of that.
  return create.call(Worker, { ...options, debugMode: true, interceptors: { ...interceptors, activity } });
};
await import('../../../src/worker.js');
