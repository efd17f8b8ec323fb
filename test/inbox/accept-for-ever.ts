import { SqliteInbox } from '../../lib/inbox/sqlite-inbox';

/** Accepts messages and prints the id of each that is acknowledged, until it is killed. */
async function main(): Promise<void> {
  const inbox = await SqliteInbox.open({ file: process.argv[2] ?? '' });
  for (let round = 0; round < 10_000; round += 1) {
    const ids = Array.from({ length: 5 }, (_, at) => `${round}-${at}`);
    await Promise.all(
      ids.map(async (messageId) => {
        await inbox.accept({
          kind: 'event',
          endpointId: 'e',
          stationKey: 'north',
          stationName: 'North',
          sandbox: false,
          receivedTime: new Date().toISOString(),
          fingerprint: 'f',
          body: Buffer.from('{}'),
          proof: 'hmac',
          secret: 'current',
          envelope: {
            messageId,
            payloadType: 'BlueEvent',
            version: '1',
            transmitTime: null,
            logCorrelationId: null,
          },
          event: {},
          warnings: [],
        });
        process.stdout.write(`${messageId}\n`);
      }),
    );
  }
}

void main();
