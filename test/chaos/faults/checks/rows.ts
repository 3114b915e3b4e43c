import { broken } from '../../../support/invariants/index.js';
import type { World } from '../world.js';
import type { Looked } from './looked.js';

/** Checks that no row contradicts another: counters, copied columns, references, versions and events. */
export async function rowsAgree({ service, find }: World): Promise<Looked> {
  const { asked, wrong } = await broken(service.ownerUrl);
  for (const what of wrong) find(`rows: ${what}`);
  return [['rules that rows keep', asked]];
}
