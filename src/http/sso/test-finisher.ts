import type { SsoTests } from '../../domain/sso-sign-in/tests.js';
import { sendSsoLost } from './failed-page.js';
import type { Answer, SsoFinisher } from './finishers.js';
import { sendTestDone } from './test-page.js';

/** Finishes test sign-ins: nothing changes except the test itself, and the person gets its result. */
export function createTestFinisher(tests: SsoTests): SsoFinisher {
  const answer =
    ({ test_id: testId = '' }: Record<string, string>): Answer =>
    async (request, reply) =>
      sendTestDone(request, reply, await tests.report(testId));
  return {
    async settle(tx, completed) {
      await tests.finish(tx, completed);
      return answer(completed.parameters);
    },
    again: (parameters, state) => (state === 'over' ? answer(parameters) : sendSsoLost),
  };
}
