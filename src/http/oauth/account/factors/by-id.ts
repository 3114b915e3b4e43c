import { DomainError } from '../../../../domain/errors.js';
import { isUuid } from '../../../../platform/uuid.js';

/** The route of a page about one factor. */
export interface ById {
  Params: { id: string };
}

/** @throws DomainError mfa.factor_not_found */
export function idIn({ id }: ById['Params']): string {
  if (!isUuid(id)) throw new DomainError('mfa.factor_not_found');
  return id;
}
