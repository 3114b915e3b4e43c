import type { MfaGraces } from '../src/domain/mfa/grace/grace.js';
import { settled } from './settled.js';
import { withWait } from './waiting.js';

export type { GraceLook } from '../src/domain/mfa/grace/grace.js';
export type MfaActivities = ReturnType<typeof createMfaActivities>;

export const createMfaActivities = ({ mfaGraces }: { mfaGraces: Pick<MfaGraces, 'advance' | 'cancel'> }) => ({
  advanceGrace: (id: string) =>
    settled(async () => {
      const look = await mfaGraces.advance(id);
      return withWait(look, look.wakeAt);
    }),
  cancelGrace: (id: string) => settled(() => mfaGraces.cancel(id, 'cancelled_by_operator')),
});
