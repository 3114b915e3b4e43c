import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import 'reflect-metadata';
import pg from 'pg';
import { migrate } from '../../src/platform/database/migrations.js';
import { startPostgres } from '../../src/platform/embedded/postgres.js';
import { serviceUrl } from './database.js';
import { newServerFolder } from './server-folder.js';

const template = `gatehouse_template_${process.pid}`; // two runs may share a server

/**
 * Starts PostgreSQL once for the whole run (or uses `GATEHOUSE_TEST_SERVER`) and migrates the database that tests copy
 * (or uses `GATEHOUSE_TEST_TEMPLATE` there).
 */
export default async function setUp(): Promise<void> {
  const given = process.env.GATEHOUSE_TEST_SERVER;
  if (given && process.env.GATEHOUSE_TEST_TEMPLATE) return keepDocuments();
  const server = given ?? (await startServer());
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${template}`);
  await client.end();
  if (given) globalThis.gatehouseTearDown = () => dropTemplate(server);
  const ownerUrl = new URL(server);
  ownerUrl.pathname = `/${template}`;
  await migrate(ownerUrl.href, serviceUrl(ownerUrl.href));
  process.env.GATEHOUSE_TEST_SERVER = server;
  await keepDocuments();
  process.env.GATEHOUSE_TEST_TEMPLATE = template;
}

/** Creates the folder for the OpenAPI documents, each of which the first test that needs it writes for all. */
async function keepDocuments(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-documents-'));
  process.env.GATEHOUSE_TEST_DOCUMENTS = directory;
  const tearDown = globalThis.gatehouseTearDown;
  globalThis.gatehouseTearDown = async () => {
    await rm(directory, { recursive: true, force: true });
    await tearDown?.();
  };
}

async function startServer(): Promise<string> {
  const dataDir = await newServerFolder();
  const postgres = await startPostgres({ dataDir, durable: false });
  globalThis.gatehouseTearDown = async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return postgres.url;
}

async function dropTemplate(server: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`drop database ${template} with (force)`);
  await client.end();
}

declare global {
  var gatehouseTearDown: (() => Promise<void>) | undefined;
}
