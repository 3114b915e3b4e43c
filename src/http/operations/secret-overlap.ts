import { type Static, Type } from 'typebox';
import { Body, Nullable } from '../surfaces/schemas.js';

/** For the rotation of a secret: how long the previous one keeps working, up to a week. */
export const Overlap = Nullable(
  Body({ overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800, default: 0 })) }),
);

export const overlapIn = (body: Static<typeof Overlap>): number => body?.overlap_seconds ?? 0;
