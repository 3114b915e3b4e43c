import type { CDPSession, Page } from 'playwright-core';

export interface VirtualAuthenticator {
  /** Whether somebody is there to touch it; requests wait while nobody is. */
  attend(isThere: boolean): Promise<void>;
  /** Whether the finger or PIN is right. */
  recognize(isRight: boolean): Promise<void>;
  /** How many credentials it keeps. */
  count(): Promise<number>;
  /** Makes it keep a passkey that the service has never seen, or no longer knows. */
  keepForeignPasskey(passkey: { rpId: string; privateKey: string }): Promise<void>;
}

const kinds = {
  /** A key on a keyring: it is touched, and knows nobody. */
  'security-key': { transport: 'usb', hasResidentKey: false, hasUserVerification: false },
  /** A phone's or computer's own, whose passkeys are synced. */
  platform: { transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
} as const;

/** Plugs an authenticator of the DevTools protocol into a page: the browser's own WebAuthn, with a device in software. */
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
