import pg from 'pg';

/** The parts of `pg.Query` that this overrides, which its types omit. */
interface Connection {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string>;
  parse(statement: { name: string; text: string }): void;
  bind(values: { statement: string; values: string[] }): void;
  execute(portal: object): void;
}
interface Query {
  submit(connection: Connection): Error | null;
  handleCommandComplete(message: unknown, connection: Connection): void;
}
const Query = pg.Query as unknown as new (config: pg.QueryConfig) => Query;

/** Selects no row, so that there is nothing to read. */
const setScope = {
  name: 'set_scope',
  text: `select where set_config('gatehouse.scope', 'tenant', true)
  || set_config('gatehouse.account_id', $1, true) || set_config('gatehouse.environment_id', $2, true) is null`,
};

/**
 * One prepared statement in a tenant's scope, in one round trip. The scope is set in the same batch of messages, which
 * PostgreSQL treats as one transaction: so the scope applies only to that statement, and if it cannot be set the
 * statement does not run.
 */
export class ScopedQuery extends Query {
  private isScopeSet = false;

  constructor(
    statement: { name: string; text: string },
    values: unknown[],
    private readonly scope: { accountId: string; environmentId?: string },
  ) {
    super({ ...statement, values });
  }

  /** Returns a promise for the result: pg returns none for a query object that it has not made itself. */
  answerOn<Row extends pg.QueryResultRow>(client: pg.ClientBase): Promise<pg.QueryResult<Row>> {
    const query = this as unknown as pg.QueryConfig;
    return new Promise((resolve, reject) => {
      void client.query<Row>(query, (error, result) => (error ? reject(error) : resolve(result)));
    });
  }

  override submit(connection: Connection): Error | null {
    connection.stream.cork();
    try {
      // A connection whose batch fails is discarded, so nothing counts as prepared that is not.
      if (connection.parsedStatements[setScope.name] === undefined) {
        connection.parse(setScope);
        connection.parsedStatements[setScope.name] = setScope.text;
      }
      const { accountId, environmentId = '' } = this.scope;
      connection.bind({ statement: setScope.name, values: [accountId, environmentId] });
      connection.execute({});
      return super.submit(connection);
    } finally {
      connection.stream.uncork();
    }
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.isScopeSet) super.handleCommandComplete(message, connection);
    else this.isScopeSet = true;
  }
}
