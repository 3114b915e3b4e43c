import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/*
 * The metrics that the service's rules count in this process, wherever they run; `/metrics` of each process shows them
 * all. Label values come from our code: never a tenant, an id, an address, or anything else that a caller chooses.
 */

const metrics: (Counter | Gauge | Histogram)[] = [];

function counter<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
  const made = new Counter({ name, help, labelNames, registers: [] });
  metrics.push(made as Counter);
  return made;
}

function histogram(name: string, help: string, buckets: number[]): Histogram {
  const made = new Histogram({ name, help, buckets, registers: [] });
  metrics.push(made);
  return made;
}

function gauge(name: string, help: string): Gauge {
  const made = new Gauge({ name, help, registers: [] });
  metrics.push(made);
  return made;
}

export const eventsRecorded = counter('gatehouse_events_total', 'Events that were committed, by type.', ['action']);
export const signIns = counter(
  'gatehouse_sign_ins_total',
  'Sign-ins by type of actor, first factor and outcome: succeeded, failed (the factor was wrong) or refused (the ' +
    'factor was correct).',
  ['actor_type', 'method', 'outcome'],
);
export const secondFactors = counter('gatehouse_second_factors_total', 'Answers with a second factor.', [
  'actor_type',
  'factor',
  'outcome',
]);
export const tokenGrants = counter(
  'gatehouse_token_grants_total',
  'Requests to the token endpoint by grant type: issued, or the error code of the response.',
  ['grant_type', 'outcome'],
);
export const throttled = counter('gatehouse_throttled_total', 'Requests refused by a rate limit, by its policy.', [
  'limit',
]);
export const hashesRefused = counter(
  'gatehouse_password_hashes_refused_total',
  'Passwords that were not hashed because too many were waiting.',
);
export const largeMessagesRefused = counter(
  'gatehouse_large_messages_refused_total',
  'Large bodies that were not read, and large responses that were not created, because too many were waiting or waited ' +
    'too long; requests of an address that keeps too much in memory.',
);
export const logLinesLost = counter(
  'gatehouse_log_lines_lost_total',
  'Log lines that were dropped because nobody read them in time, or there was no room.',
);
export const broadReadsRefused = counter(
  'gatehouse_broad_reads_refused_total',
  'Searches and counts that were not executed because too many were waiting or waited too long.',
);
export const connectionsRefused = counter(
  'gatehouse_postgres_pool_refused_total',
  'Transactions and statements that got no connection because too many of the same Account were waiting, or waited too long.',
);
const dependencyFailures = counter(
  'gatehouse_dependency_failures_total',
  'Requests to third-party services that were not answered.',
  ['dependency'],
);
const whileUnavailable = {
  breach_check: 'the breach check does not answer; the bundled list of common passwords decides',
  captcha: 'the captcha service does not answer; nobody passes',
};
/** Returns a function that counts a failed call of an external service, and logs its consequence. */
export const notingOutages =
  (log: { warn(details: object, message: string): void }, dependency: keyof typeof whileUnavailable) =>
  (error: unknown): void => {
    dependencyFailures.inc({ dependency });
    log.warn({ err: error }, whileUnavailable[dependency]);
  };
export const mails = counter('gatehouse_mails_total', 'Emails that have ended, by outcome.', ['status']);
export const mailDelay = histogram(
  'gatehouse_mail_delay_seconds',
  'Time from the request for an email until the mail server accepted it.',
  [1, 2, 5, 15, 60, 300, 1800, 7200, 86_400],
);
export const webhookAttempts = counter(
  'gatehouse_webhook_attempts_total',
  'Calls of webhook receivers, by the class of the response status, or the reason why there was none.',
  ['outcome'],
);
export const webhookDeliveries = counter(
  'gatehouse_webhook_deliveries_total',
  'Deliveries that have ended, by outcome.',
  ['status'],
);
export const logoutAttempts = counter(
  'gatehouse_logout_token_attempts_total',
  'Calls of clients with a logout token, by the class of the response status, or the reason why there was none.',
  ['outcome'],
);
export const logoutTokens = counter('gatehouse_logout_tokens_total', 'Logout tokens that have ended, by outcome.', [
  'status',
]);
export const domainLooks = counter('gatehouse_sso_domain_looks_total', 'Checks for the records of claimed domains.', [
  'outcome',
]);
export const workflowsRestarted = counter(
  'gatehouse_workflows_restarted_total',
  'Lost workflows that were started again because their row was still waiting.',
  ['workflow_type'],
);

export const workflowsUnhealed = counter(
  'gatehouse_workflows_unhealed_total',
  'Workflows of waiting rows that Temporal could not describe or start again.',
  ['workflow_type'],
);

export const clockAhead = gauge(
  'gatehouse_clock_ahead_seconds',
  "How far this process's clock is ahead of PostgreSQL's; negative if behind.",
);

/** Adds these metrics to a process's registry. Each process has its own, since tests run several in one. */
export const showCounts = (registry: Registry): void => {
  for (const metric of metrics) registry.registerMetric(metric);
};
