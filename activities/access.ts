import type { RoleWindows } from '../src/domain/access/windows/windows.js';
import { settled } from './settled.js';
import { withWait } from './waiting.js';

export type { WindowLook } from '../src/domain/access/windows/windows.js';
export type AccessActivities = ReturnType<typeof createAccessActivities>;

export const createAccessActivities = ({ roleWindows }: { roleWindows: Pick<RoleWindows, 'advance' | 'cancel'> }) => ({
  advanceRoleWindow: (id: string) =>
    settled(async () => {
      const look = await roleWindows.advance(id);
      return withWait(look, look.wakeAt);
    }),
  cancelRoleWindow: (id: string) => settled(() => roleWindows.cancel(id, 'cancelled_by_operator')),
});
