import { settled } from './settled.js';

/** The rotation of `domain/oidc/keys`: safe to repeat, since it creates a key only when one is due. */
export interface RotatingKeys {
  rotate(): Promise<{ created: string | null }>;
}
export type SigningKeyActivities = ReturnType<typeof createSigningKeyActivities>;

export const createSigningKeyActivities = ({ signingKeys }: { signingKeys: RotatingKeys }) => ({
  rotateSigningKeys: () => settled(() => signingKeys.rotate()),
});
