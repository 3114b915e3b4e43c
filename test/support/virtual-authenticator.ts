import type { CDPSession, Page } from 'playwright-core';

export interface VirtualAuthenticator {
  /** Sets whether a person is there to touch it; without one, requests wait. */
  attend(isThere: boolean): Promise<void>;
  /** Sets whether the fingerprint or PIN is right. */
  recognize(isRight: boolean): Promise<void>;
  /** Returns how many credentials it holds. */
  count(): Promise<number>;
  /** Adds a passkey that the service has never seen, or has deleted. */
  keepForeignPasskey(passkey: { rpId: string; privateKey: string }): Promise<void>;
}

const kinds = {
  /** A key on a keyring: it has to be touched, but does not verify its user. */
  'security-key': { transport: 'usb', hasResidentKey: false, hasUserVerification: false },
  /** Built into a phone or computer; its passkeys are synced. */
  platform: { transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
} as const;

/** Adds a DevTools virtual authenticator to a page: the browser's own WebAuthn, with a device in software. */
export async function plugIn(page: Page, kind: keyof typeof kinds): Promise<VirtualAuthenticator> {
  const cdp: CDPSession = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const synced = kind === 'platform';
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      automaticPresenceSimulation: true,
      defaultBackupEligibility: synced,
      defaultBackupState: synced,
      ...kinds[kind],
    },
  });
  return {
    attend: async (enabled) =>
      void (await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })),
    recognize: async (isUserVerified) =>
      void (await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })),
    count: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length,
    async keepForeignPasskey({ rpId, privateKey }) {
      const id = Buffer.from('a passkey of nobody').toString('base64');
      const credential = {
        credentialId: id,
        isResidentCredential: true,
        rpId,
        privateKey,
        userHandle: id,
        signCount: 0,
      };
      await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
  };
}
