import { settled } from './settled.js';

/** As `domain/oidc/keys` has it: safe to repeat, since a key is made only when one is due. */
export interface RotatingKeys {
  rotate(): Promise<{ created: string | null }>;
}
export type SigningKeyActivities = ReturnType<typeof createSigningKeyActivities>;

export const createSigningKeyActivities = ({ signingKeys }: { signingKeys: RotatingKeys }) => ({
  rotateSigningKeys: () => settled(() => signingKeys.rotate()),
});
