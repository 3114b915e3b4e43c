import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import type { Directory } from './directory.js';
import { ScimRefused } from './refusal.js';
import { assertMayMove } from './users/addresses.js';
import { assertMayRename } from './users/authority.js';
import type { WantedUser } from './users/resource.js';
import type { UserRow } from './users/rows.js';

/**
 * The part of a wanted change that the directory may write.
 * @throws ScimRefused forbidden for a name that is not the directory's to change
 */
export async function permitted(
  tx: EntityManager,
  directory: Directory,
  row: UserRow,
  { wanted, isWhole }: { wanted: WantedUser; isWhole: boolean },
): Promise<WantedUser> {
  const { firstName, lastName, email } = row;
  const isLeaving = wanted.isActive === false;
  let settled = wanted;
  if (!isDeepStrictEqual([wanted.firstName, wanted.lastName], [firstName, lastName])) {
    const look = () => assertMayRename(tx, directory, row);
    if (!(isLeaving || isWhole)) await look();
    else if (await refused(look)) settled = { ...settled, firstName, lastName };
  }
  const isMoved = wanted.email.toLowerCase() !== email.toLowerCase();
  if (isLeaving && isMoved && (await refused(() => assertMayMove(tx, directory, row, wanted.email))))
    settled = { ...settled, email };
  return settled;
}

/** Whether it was refused as not the directory's to do. */
const refused = (look: () => Promise<unknown>): Promise<boolean> =>
  look().then(
    () => false,
    (error: unknown) => {
      if (error instanceof ScimRefused && error.kind === 'forbidden') return true;
      throw error;
    },
  );
