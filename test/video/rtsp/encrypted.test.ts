import assert from 'node:assert/strict';
import { ServerUnderTest, live } from '../../rtsp/server-under-test';
import { Authority, type Issued } from '../../support/network/certificates';
import { MuteServer, OddServer } from '../../support/network/servers';
import { reply, ScriptedRelay, type Script } from '../../support/rtsp/scripted-relay';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';
import { Streams, take } from './streams';

describe('an encrypted stream', () => {
  const under = new ServerUnderTest();
  const streams = new Streams();
  let authority: Authority;
  let issued: Issued;

  before(function () {
    needs(this, 'openssl');
    authority = new Authority();
    issued = authority.issueForServer();
  });
  after(() => authority.remove());
  afterEach(() => under.stop());

  it('comes where the certificate is of an authority that the cloud knows', async () => {
    const server = await under.start({ tls: issued });
    const stream = await streams.open(server.grant(live()), { tls: { ca: authority.cert } });
    assert.equal((await take(stream, 3)).length, 3);
    await stream.close();
    assert.equal(server.sessionCount, 0);
  });

  for (const [title, tls] of [
    ['comes from any relay where the cloud takes any certificate', () => ({ rejectUnauthorized: false })],
    [
      'is not judged by the name that is set for the service',
      () => ({ ca: authority.cert, servername: 'service.example' }),
    ],
  ] as const)
    it(title, async () => {
      const server = await under.start({ tls: issued });
      assert.equal((await take(await streams.open(server.grant(live()), { tls: tls() }), 1)).length, 1);
    });

  it('is TLS where nobody knows the authority', async () => {
    const server = await under.start({ tls: issued });
    const { message } = await streams.refusal(server.grant(live()), 'TLS');
    assert.match(message, /certificate of the relay is not accepted .* TLS node of the cloud/);
  });

  it('is judged by the host of its URL, though it is connected by address', async () => {
    const server = await under.start({ tls: authority.issueForServer('DNS:localhost') });
    const url = server.grant(live());
    const tls = { ca: authority.cert };
    const byName = await streams.open(url.replace('127.0.0.1', 'localhost'), { tls });
    assert.equal((await take(byName, 1)).length, 1);
    assert.match((await streams.refusal(server.grant(live()), 'TLS', { tls })).message, /for another name/);
  });

  it('is TLS where the relay answers in clear', async () => {
    const relay = await OddServer.raw((socket) =>
      socket.once('data', () => socket.end('RTSP/1.0 400 x\r\n\r\n')),
    );
    try {
      await streams.refusal(`rtsps://127.0.0.1:${relay.port}/live`, 'TLS');
    } finally {
      await relay.close();
    }
  });

  it('is TIMEOUT where the handshake never ends, and the connection is given up', async () => {
    const mute = await MuteServer.start();
    try {
      await streams.refusal(mute.url.replace('https:', 'rtsps:'), 'TIMEOUT', { limits: { connectMs: 200 } });
      await eventually(() => mute.connections === 0, 'the end of the connection');
    } finally {
      await mute.close();
    }
  });

  it('is CONFIG_MISSING for a CA that is none', async () => {
    const server = await under.start({ tls: issued });
    await streams.refusal(server.grant(live()), 'CONFIG_MISSING', { tls: { ca: 'x' } });
  });

  it('is UNTRUSTED_LINK where it would go on in clear', async () => {
    const server = await under.start();
    const to = server.grant(live());
    const DESCRIBE: Script['DESCRIBE'] = (request) => reply(request, 302, { Location: to });
    const relay = await ScriptedRelay.start({ DESCRIBE }, issued);
    try {
      await streams.refusal(relay.url, 'UNTRUSTED_LINK', { tls: { ca: authority.cert } });
      assert.equal(server.sessionCount, 0);
    } finally {
      await relay.close();
    }
  });
});
