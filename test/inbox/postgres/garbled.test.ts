import assert from 'node:assert/strict';
import { connect } from '../../../lib/inbox/postgres/connection/connect';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { framed, GarblingServer } from '../../support/postgres/odd-servers';

const LETS_IN = Buffer.concat([framed('R', [0, 0, 0, 0]), framed('Z', [0x49])]);

/** Whatever is thrown where an answer is read would end Node-RED. */
describe('a server that answers strangely', () => {
  async function refusal(port: number): Promise<string> {
    const settings = readConnection(`postgres://ada:hunter@127.0.0.1:${port}/postgres`, {
      schema: 'rvm',
      tls: 'off',
      instanceName: 'north',
    });
    const error: unknown = await connect(settings, 'work').then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof Error, 'no error');
    assert.doesNotMatch(error.message, /hunter/);
    return error.message;
  }

  async function assertRefused(said: readonly Buffer[], reason: RegExp): Promise<void> {
    const server = await GarblingServer.start(...said);
    try {
      assert.match(await refusal(server.port), reason);
    } finally {
      await server.close();
    }
  }

  it('is refused where it asks for a login that is not known', () =>
    assertRefused([framed('R', [0, 0, 0, 99])], /asks for a login other than by password/));

  it('is refused where its first answer has a row of less than no columns', () =>
    assertRefused(
      [LETS_IN, Buffer.concat([framed('T', [0, 0]), framed('D', [0xff, 0xff])])],
      /not what a PostgreSQL says/,
    ));

  it('is refused in one line, whatever it says', async () => {
    const said = `SFATAL\0C53400\0M${'no\n\x1b[31m'.repeat(1000)}\0\0`;
    const server = await GarblingServer.start(framed('E', [...Buffer.from(said)]));
    const reason = await refusal(server.port);
    await server.close();
    assert.match(reason, /^[\x20-\x7e]{50,400}$/);
  });

  it('is refused where an answer ends before its end', () =>
    assertRefused([framed('R', [])], /not what a PostgreSQL says/));

  it('is refused where it is no PostgreSQL', () =>
    assertRefused([Buffer.from([0, 0, 0, 0, 4])], /not what a PostgreSQL says/));
});
