import { DomainError } from '../../domain/errors.js';

/** For `.catch`: turns the current state in a version conflict into the resource that callers know. */
export const conflictAs =
  <T>(present: (current: T) => unknown) =>
  (error: unknown): never => {
    if (error instanceof DomainError && error.code === 'version.conflict') {
      throw new DomainError(error.code, { ...error.options, current: present(error.options.current as T) });
    }
    throw error;
  };
