import assert from 'node:assert/strict';
import { connect } from '../../../lib/inbox/postgres/connect';
import { framed, GarblingServer } from '../../support/postgres/odd-servers';
import { settingsOf } from '../../support/postgres/stores';

const LETS_IN = Buffer.concat([framed('R', [0, 0, 0, 0]), framed('Z', [0x49])]);

/** Whatever is thrown where an answer is read would end Node-RED. */
describe('a server that answers strangely', () => {
  /** Why a server is refused that says so. */
  async function refusalOf(...said: readonly Buffer[]): Promise<string> {
    const server = await GarblingServer.start(...said);
    const settings = settingsOf(`postgres://ada:hunter@127.0.0.1:${server.port}/postgres`);
    const outcome: unknown = await connect(settings, 'work').catch((error: unknown) => error);
    await server.close();
    assert.ok(outcome instanceof Error, 'no error');
    assert.doesNotMatch(outcome.message, /hunter/);
    return outcome.message;
  }

  const long = `SFATAL\0C53400\0M${'no\n\x1b[31m'.repeat(1000)}\0\0`;
  const REFUSED: [title: string, said: readonly Buffer[], reason: RegExp][] = [
    [
      'where it asks for a login that is not known',
      [framed('R', [0, 0, 0, 99])],
      /asks for a login other than by password/,
    ],
    [
      'where its first answer has a row of less than no columns',
      [LETS_IN, Buffer.concat([framed('T', [0, 0]), framed('D', [0xff, 0xff])])],
      /not what a PostgreSQL says/,
    ],
    ['in one line, whatever it says', [framed('E', [...Buffer.from(long)])], /^[\x20-\x7e]{50,400}$/],
    ['where an answer ends before its end', [framed('R', [])], /not what a PostgreSQL says/],
    ['where it is no PostgreSQL', [Buffer.from([0, 0, 0, 0, 4])], /not what a PostgreSQL says/],
  ];
  for (const [title, said, reason] of REFUSED)
    it(`is refused ${title}`, async () => assert.match(await refusalOf(...said), reason));
});
