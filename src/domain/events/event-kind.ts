export const eventOutcomes = ['success', 'failure', 'denied'] as const;
export const eventSeverities = ['info', 'notice', 'warning', 'critical'] as const;
export const eventCategories = [
  'auth',
  'identity',
  'access',
  'structure',
  'configuration',
  'integration',
  'security',
] as const;

/** What is the same for all events of a type. */
export interface EventKind {
  category: (typeof eventCategories)[number];
  resource: string;
  severity?: (typeof eventSeverities)[number];
  /** False if only the audit log reports it. */
  domainEvent?: boolean;
  /** True if it is shown on the identity surface of the audit log. */
  identityVisible?: boolean;
}
