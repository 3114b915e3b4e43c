import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import { webhookSecretContext } from './secrets.js';

const column = (name: string) => ({
  table: 'webhooks',
  column: name,
  where: `${name} is not null`,
  contextOf: webhookSecretContext,
});

/** Encrypts signing secrets anew, the previous ones too, that an older master key sealed. Answers how many. */
export async function resealWebhooks(deps: ResealDeps): Promise<number> {
  const current = await resealColumn(deps, column('secret'));
  return current + (await resealColumn(deps, column('previous_secret')));
}
