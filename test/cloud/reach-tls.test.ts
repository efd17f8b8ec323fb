import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ServerOptions } from 'node:https';
import type { TlsSettings } from '../../lib/tls';
import type { StationClient } from '../../lib/cloud/station-client';
import type { RvmError } from '../../lib/error';
import { Authority, type Issued, selfSigned } from '../support/network/certificates';
import { needs } from '../support/suite/programs';
import { failure, ScriptedStation } from '../support/service/scripted-station';
import { eventually } from '../support/time/patience';

describe('a service behind TLS of its own', () => {
  let authority: Authority;
  let server: Issued;
  let client: Issued;
  const stations: ScriptedStation[] = [];

  before(function () {
    needs(this, 'openssl');
    authority = new Authority();
    server = authority.issueForServer();
    client = authority.issueForClient();
  });
  after(() => authority?.remove());

  afterEach(async () => {
    for (const station of stations.splice(0)) await station.close();
  });

  async function serve(options: ServerOptions = {}): Promise<ScriptedStation> {
    const station = await ScriptedStation.start({ ...server, ...options });
    stations.push(station);
    return station;
  }

  /** A service that lets nobody in without a certificate of the authority. */
  function serveKnownClients(options: ServerOptions = {}): Promise<ScriptedStation> {
    return serve({ ca: authority.cert, requestCert: true, rejectUnauthorized: true, ...options });
  }

  async function refused(client: StationClient): Promise<RvmError> {
    return failure(client.listDevices(), 'TLS');
  }

  /** A server that tells why it refuses a certificate, as Node does not. */
  async function refusingServer(version: string): Promise<{ port: number; stop(): void }> {
    const [key, cert] = [authority.save('server.key', server.key), authority.save('s.pem', server.cert)];
    const own = ['-key', key, '-cert', cert];
    const ask = ['-Verify', '2', '-verify_return_error', '-CAfile', authority.file, version, '-www'];
    const child = spawn('openssl', ['s_server', '-accept', '127.0.0.1:0', ...own, ...ask], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    child.stdout.on('data', (piece: Buffer) => (said += piece.toString()));
    await eventually(() => /ACCEPT .*:\d+/.test(said), 'the server');
    return { port: Number(/ACCEPT .*:(\d+)/.exec(said)?.[1]), stop: () => void child.kill('SIGKILL') };
  }

  function trusting(more: TlsSettings = {}): { tls: TlsSettings } {
    return { tls: { ca: authority.cert, ...more } };
  }

  for (const [what, options] of [
    ['accepted with its certificate authority', {}],
    ['spoken to in HTTP/1.1, also where it offers HTTP/2', { ALPNProtocols: ['h2', 'http/1.1'] }],
  ] as const) {
    it(`is ${what}`, async () => {
      const station = await serve({ ...options });
      assert.equal((await station.client(trusting()).listDevices()).length, 2);
    });
  }

  it('is TLS without its certificate authority, and the message says where a certificate authority goes', async () => {
    const station = await serve();
    const alone = station.client();
    const { message, cause } = await refused(alone);
    assert.match(message, /UNABLE_TO_VERIFY_LEAF_SIGNATURE.*TLS node of the cloud/);
    assert.equal(cause.relation, 'system');
    assert.equal(alone.state.kind, 'offline');
    assert.equal(station.service.seen.length, 0);
  });

  it('is TLS where the authority is another', async () => {
    const other = new Authority('Another authority');
    const station = await serve();
    await refused(station.client({ tls: { ca: other.cert } }));
    other.remove();
  });

  it('is accepted whatever its certificate where that is not to be verified', async () => {
    const station = await serve(selfSigned('elsewhere'));
    assert.equal((await station.client({ tls: { rejectUnauthorized: false } }).listDevices()).length, 2);
    await refused(station.client({ tls: {} }));
  });

  it('is TLS where the certificate has expired', async () => {
    const station = await serve(authority.issueForServer(undefined, -1));
    assert.match((await refused(station.client(trusting()))).message, /CERT_HAS_EXPIRED.*clock/);
  });

  it('is TLS where the certificate is for another name, unless that name is expected', async () => {
    const station = await serve(authority.issueForServer('DNS:service.example'));
    const { message } = await refused(station.client(trusting()));
    assert.match(message, /ERR_TLS_CERT_ALTNAME_INVALID.*another name/);
    const expecting = station.client(trusting({ servername: 'service.example' }));
    assert.equal((await expecting.listDevices()).length, 2);
  });

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const only = { minVersion: version, maxVersion: version };

    it(`gets the certificate of the client that it asks for (${version})`, async () => {
      const station = await serveKnownClients(only);
      assert.equal((await station.client(trusting(client)).listDevices()).length, 2);
    });

    it(`is TLS where it asks for a certificate in vain, and the message says so (${version})`, async () => {
      const station = await serveKnownClients(only);
      const { message } = await refused(station.client(trusting()));
      assert.match(message, /certificate of the client.*TLS node of the cloud/);
      assert.equal(station.service.seen.length, 0);
    });
  }

  for (const version of ['-tls1_2', '-tls1_3']) {
    it(`is TLS where it refuses the certificate of the client, and the message says so (${version})`, async () => {
      const station = await serve();
      const server = await refusingServer(version);
      const { message } = await refused(
        station.client({ ...trusting(selfSigned('client')), baseUrl: `https://127.0.0.1:${server.port}` }),
      );
      assert.match(message, /does not accept the certificate of the client.*UNKNOWN_CA/);
      server.stop();
    });
  }

  it('takes a client certificate with an encrypted key, and one of a PKCS #12 file', async () => {
    const station = await serveKnownClients();
    const locked = { ...authority.issueForClient('top secret'), passphrase: 'top secret' };
    await station.client(trusting(locked)).listDevices();
    const bundle = { pfx: authority.bundle(client, 'other secret'), passphrase: 'other secret' };
    await station.client(trusting(bundle)).listDevices();
  });

  const UNUSABLE: [string, () => TlsSettings, RegExp][] = [
    ['a CA file that holds no certificate', () => ({ ca: 'MIIB…' }), /CA file/],
    ['an empty CA file', () => ({ ca: Buffer.alloc(0) }), /CA file/],
    ['a key of another certificate', () => ({ cert: client.cert, key: server.key }), /do not fit/],
    ['a bad passphrase', () => ({ ...authority.issueForClient('right'), passphrase: 'wr0ng' }), /do not fit/],
    ['a PKCS #12 file that is none', () => ({ pfx: Buffer.from('x') }), /do not fit/],
  ];
  for (const [what, settings, reason] of UNUSABLE) {
    it(`CONFIG_MISSING for ${what}, before anything is sent`, async () => {
      const station = await serve();
      const asking = station.client({ tls: settings() });
      const { message } = await failure(asking.listDevices(), 'CONFIG_MISSING');
      assert.match(message, reason);
      assert.doesNotMatch(message, /wr0ng/);
      assert.equal(asking.state.kind, 'refused');
      assert.equal(station.service.connections, 0);
    });
  }
});
