import type { SsoConnection } from '../../../entities/sso-connection.js';

/** The columns that identify a connection's provider. */
export const providerFields = ['samlEntityId', 'oidcDiscoveryUrl'] as const;

/** The provider that a connection has at some moment. */
export type NamedProvider = Pick<SsoConnection, (typeof providerFields)[number]>;

/** Whether both are the same provider: another one names other people. */
export const isSameProvider = (one: NamedProvider, other: NamedProvider): boolean =>
  providerFields.every((field) => one[field] === other[field]);
