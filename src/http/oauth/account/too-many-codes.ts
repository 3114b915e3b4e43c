import { DomainError } from '../../../domain/errors.js';
import { wantsJson } from '../../pages/wants-json.js';
import { setRetryHeaders } from '../../surfaces/limit-headers.js';
import type { AccountVisit } from './visit.js';

/**
 * Returns what a form says if too many codes were requested, and when the next one can be; null for any other error,
 * and for a script. An error page would have no field for the latest code, which still works.
 */
export function tooManyCodes({ request, reply }: Pick<AccountVisit, 'request' | 'reply'>, error: unknown) {
  if (!(error instanceof DomainError) || error.code !== 'rate_limit.exceeded' || wantsJson(request)) return null;
  setRetryHeaders(reply, error);
  return { error: 'account.error.too_many_codes', retryAfterSeconds: error.options.retryAfter ?? null } as const;
}
