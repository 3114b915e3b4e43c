import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import { webhookSecretContext } from './secrets.js';

const column = (name: string) => ({
  table: 'webhooks',
  column: name,
  where: `${name} is not null`,
  contextOf: webhookSecretContext,
});

/** Re-encrypts signing secrets, current and previous, that an older master key sealed. Returns how many. */
export async function resealWebhooks(deps: ResealDeps): Promise<number> {
  const current = await resealColumn(deps, column('secret'));
  return current + (await resealColumn(deps, column('previous_secret')));
}
