import {
  CancellationScope,
  condition,
  defineSignal,
  setHandler,
  type WorkflowInterceptors,
} from '@temporalio/workflow';

/** The time is now this, in milliseconds. */
export const timeIs = defineSignal<[now: number]>('timeIs');

/** What a step returns in these tests: its result, and the time by the test's clock. */
export interface Timed {
  result: unknown;
  now: number;
}

/**
 * Has workflows live by the test's clock: they are told the time with each step's result, and by a signal when the clock
 * was moved. A timer fires once its time has come by that clock, and never by itself.
 */
export const interceptors = (): WorkflowInterceptors => {
  let told = 0;
  const hear = (now: number) => {
    told = Math.max(told, now);
  };
  globalThis.Date = class extends Date {
    static override now = () => told;
  } as DateConstructor;
  return {
    inbound: [
      {
        execute(input, next) {
          setHandler(timeIs, hear);
          return next(input);
        },
      },
    ],
    outbound: [
      {
        startTimer({ durationMs }) {
          const due = told + (durationMs > 1 ? durationMs : 0); // a moment that has come
          return CancellationScope.cancellable(() => condition(() => told >= due));
        },
        async scheduleActivity(input, next) {
          const { result, now } = (await next(input)) as Timed;
          hear(now);
          return result;
        },
      },
    ],
  };
};
