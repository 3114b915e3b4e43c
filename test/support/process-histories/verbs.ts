import { outcomeOf } from '../answers.js';
import type { Call } from '../calls.js';
import type { Act, Row } from './subject.js';

/** What support does with a process in the Portal: stops what it tells, and has it tell what is still to come. */
export const verbs = (
  owner: Call,
  row: Row,
  resume: () => void,
  { canResume = () => row.status === 'cancelled' } = {},
): Record<'cancel' | 'retry', Omit<Act, 'name'>> => {
  const post = async (verb: string, payload?: object) =>
    outcomeOf(await owner('POST', `/processes/${row.id}/${verb}`, payload));
  return {
    cancel: {
      send: () => post('cancel', { reason: 'a mistake' }),
      apply() {
        if (row.status !== 'running') return '409 process.not_running';
        row.stop();
        return '200';
      },
      isTwice: true,
    },
    retry: {
      send: () => post('retry'),
      apply() {
        if (!canResume()) return '409 process.not_failed';
        row.status = 'running';
        resume();
        return '200';
      },
    },
  };
};
