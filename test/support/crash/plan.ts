import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Activities after which a worker dies, by workflow id: once for each time an activity is listed. */
export type CrashPlan = Record<string, readonly string[]>;
export interface Death {
  workflowId: string;
  workflow: string;
  activity: string;
  /** The activity's number in its workflow: the same for all attempts. */
  step: string;
}

/** Returns access to the folder in which a test and its dying workers exchange the plan and the deaths. */
export const crashFolder = (folder: string) => {
  const [plan, deaths] = [join(folder, 'plan'), join(folder, 'deaths')];
  return {
    write: (planned: CrashPlan) => writeFileSync(plan, JSON.stringify(planned)),
    plan: (): CrashPlan => JSON.parse(readFileSync(plan, 'utf8')),
    /** Recorded before the death itself, so that no worker dies twice at one step. */
    note: (death: Death) => appendFileSync(deaths, `${JSON.stringify(death)}\n`),
    deaths: (): Death[] =>
      existsSync(deaths)
        ? readFileSync(deaths, 'utf8')
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line))
        : [],
  };
};

/** Returns what is left of a run's plan. */
export function stillPlanned(planned: readonly string[], workflowId: string, deaths: readonly Death[]): string[] {
  const left = [...planned];
  for (const { activity } of deaths.filter((death) => death.workflowId === workflowId)) {
    const at = left.indexOf(activity);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}
