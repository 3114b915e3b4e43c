import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Activities after which a worker dies, by the id of their workflow: as often as they are named. */
export type CrashPlan = Record<string, readonly string[]>;
export interface Death {
  workflowId: string;
  workflow: string;
  activity: string;
  /** The activity's number in its workflow: the same for each attempt. */
  step: string;
}

/** What a test and the workers that die for it tell each other, in a folder. */
export const crashFolder = (folder: string) => {
  const [plan, deaths] = [join(folder, 'plan'), join(folder, 'deaths')];
  return {
    write: (planned: CrashPlan) => writeFileSync(plan, JSON.stringify(planned)),
    plan: (): CrashPlan => JSON.parse(readFileSync(plan, 'utf8')),
    /** Before the death itself, so that nobody dies twice at one step. */
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

/** What of a run's plan has not happened yet. */
export function stillPlanned(planned: readonly string[], workflowId: string, deaths: readonly Death[]): string[] {
  const left = [...planned];
  for (const { activity } of deaths.filter((death) => death.workflowId === workflowId)) {
    const at = left.indexOf(activity);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}
