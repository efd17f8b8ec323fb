import assert from 'node:assert/strict';
import { Client, DatabaseError } from 'pg';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore } from '../../../lib/inbox/postgres/store';
import { schemaSql } from '../../../lib/inbox/postgres/schema';
import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import type { ProvenMessage } from '../../../lib/message/record';
import { DocumentedServers } from '../../support/postgres/documented-settings';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';
import { DAY, proven } from '../samples';

/** In their order, as somebody would follow the documentation. */
describe('PostgreSQL on two machines, as the documentation has it', () => {
  let servers: DocumentedServers;
  let inbox: DurableInbox | undefined;
  const stored = proven();

  before(async function () {
    needs(this, 'postgres', 'initdb', 'pg_basebackup', 'openssl');
    servers = await DocumentedServers.start();
  });

  after(async () => {
    await inbox?.close();
    await servers?.remove();
  });

  function openInbox(): DurableInbox {
    const tls = { ca: servers.authority.cert };
    const settings = readConnection(servers.url(), { schema: 'rvm', tls, instanceName: 'first' });
    const keep = { keys: 7 * DAY, bodies: 30 * DAY };
    return new DurableInbox({ keep, share: (news) => new PostgresStore({ settings }, news) });
  }

  async function opened(): Promise<DurableInbox> {
    const current = (inbox ??= openInbox());
    await eventually(() => current.state().durable === true, 'the inbox to open');
    return current;
  }

  /** Undefined where it is not taken. */
  async function outcomeOf(message: ProvenMessage): Promise<string | undefined> {
    const accepted = await (await opened()).accept(message).catch(() => undefined);
    return accepted?.outcome;
  }

  async function login(url: string, ssl: boolean): Promise<string> {
    const client = new Client({ connectionString: url, ssl: ssl && { ca: servers.authority.cert } });
    try {
      await client.connect();
      return 'in';
    } catch (error) {
      return (error instanceof DatabaseError && error.code) || 'refused';
    } finally {
      await client.end();
    }
  }

  it('lets Node-RED in with TLS and its password, and in no other way', async () => {
    assert.equal(await login(servers.url(), true), 'in');
    assert.equal(await login(servers.url(), false), '28000');
    assert.equal(await login(servers.url('node_red', 'another'), true), '28P01');
    assert.equal(await login(servers.url('replicator', 'another'), true), '28000');
  });

  it('has a standby by one command, which the primary waits for', async () => {
    await servers.makeStandby();
    const standbys = `SELECT format('%s %s %s', application_name, sync_state, usename) AS it FROM pg_stat_replication`;
    await eventually(async () => {
      const rows = await servers.primary.sql(standbys);
      return rows.length === 1 && rows[0]?.['it'] === 'db2 quorum replicator';
    }, 'the standby');
  });

  it('stores alarms for a role that may do nothing else', async () => {
    await servers.primary.sql(schemaSql('rvm', 'node_red'), 'rvm');
    assert.equal(await outcomeOf(stored), 'new');
  });

  it('takes no alarm while the standby is away, and takes it when it is back', async () => {
    const message = proven();
    await servers.standby.end('fast');
    await assert.rejects((await opened()).accept(message), { code: 'STORE_FAILED' });
    assert.equal(await inbox?.canAccept(), false);
    await servers.standby.run();
    await eventually(async () => (await outcomeOf(message)) !== undefined, 'the alarm to be stored');
  });

  it('knows every alarm on the standby, once that is promoted and told to be alone', async () => {
    await servers.primary.end('kill');
    await servers.standby.promote();
    await servers.standby.sql(`ALTER SYSTEM SET synchronous_standby_names = ''`);
    await servers.standby.sql('SELECT pg_reload_conf()');
    await eventually(async () => (await outcomeOf(stored)) === 'repeat', 'the alarm to be known');
    assert.equal(await outcomeOf(proven()), 'new');
  });
});
