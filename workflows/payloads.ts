import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * Converts values as Temporal's SDK does, except that what cannot be decoded is null. A person or tool may send a signal
 * with any payload, and an error here would block the workflow for good; handlers get along with any argument.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload<T>(payload: Parameters<PayloadConverter['fromPayload']>[0]): T {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch {
      return null as T;
    }
  },
};
