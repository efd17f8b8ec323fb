import assert from 'node:assert/strict';
import http from 'node:http';
import type { Socket } from 'node:net';
import type { StationClientOptions } from '../../lib/cloud/station-client';
import type { RvmErrorCode } from '../../lib/error';
import { Authority, type Issued } from '../support/network/certificates';
import { freePort } from '../support/node-red/node-red';
import { cannotRun, needs } from '../support/suite/programs';
import { failure, rtspForEvent, ScriptedStation, through } from '../support/service/scripted-station';
import { Tinyproxy } from '../support/network/proxies';
import { eventually } from '../support/time/patience';
import { LocalServer, Wiretap } from '../support/network/servers';

const PASSWORD = 'Proxy-pass.word_1';
/** As it may stand in an address. */
const ENCODED = PASSWORD.replace('.', '%2E');
const LOGIN = { username: 'someone', password: PASSWORD };
const ENVIRONMENT = { proxy: { kind: 'environment' } } as const;
const VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

/** As one whose end of a connection and the next request on it pass each other: that is lost. */
class HastyProxy extends LocalServer {
  private constructor() {
    const answered = new WeakSet<Socket>();
    super(
      http.createServer((request, response) => {
        const { url = '', method, headers, socket } = request;
        if (answered.has(socket)) {
          socket.destroy();
          return;
        }
        answered.add(socket);
        const asked = http.request(url, { method, headers }, (answer) => {
          const { connection: _ofTheService, ...told } = answer.headers;
          response.removeHeader('connection');
          response.writeHead(answer.statusCode ?? 502, told);
          answer.pipe(response);
        });
        request.pipe(asked);
      }),
    );
  }

  static start(): Promise<HastyProxy> {
    return new HastyProxy().listening();
  }
}

describe('a service behind a proxy', () => {
  let authority: Authority;
  let server: Issued;
  let open: Tinyproxy;
  let guarded: Tinyproxy;
  let secure: ScriptedStation;
  let clear: ScriptedStation;
  let saved: NodeJS.ProcessEnv;

  before(async function () {
    needs(this, 'openssl', 'tinyproxy');
    authority = new Authority();
    server = authority.issueForServer();
    open = await Tinyproxy.start();
    guarded = await Tinyproxy.start(`BasicAuth someone ${PASSWORD}`);
  });
  after(async () => {
    await open?.stop();
    await guarded?.stop();
    authority?.remove();
  });

  beforeEach(async () => {
    saved = { ...process.env };
    for (const name of VARIABLES) delete process.env[name];
    secure = await ScriptedStation.start(server);
    clear = await ScriptedStation.start();
  });
  afterEach(async () => {
    process.env = saved;
    await secure.close();
    await clear.close();
  });

  type Options = Partial<StationClientOptions>;
  const trusted = (more: Options = {}): Options => ({ tls: { ca: authority.cert }, ...more });
  const list = (station: ScriptedStation, options: Options) => station.client(trusted(options)).listDevices();

  /** What is told of a list that cannot be had. */
  const told = async (station: ScriptedStation, options: Options, code: RvmErrorCode = 'NETWORK') =>
    (await failure(list(station, options), code)).message;

  it('is reached by CONNECT, with a certificate authority of its own', async () => {
    const client = secure.client(trusted(through(open.url)));
    assert.equal((await client.listDevices()).length, 2);
    await rtspForEvent(client);
    assert.ok(open.count(`CONNECT 127.0.0.1:${secure.service.port} `) > 0);
    assert.equal(secure.service.seen.length, 6);
  });

  it('has its certificate judged as without a proxy', async () => {
    const unknown = await told(secure, { ...through(open.url), tls: {} }, 'TLS');
    assert.match(unknown, /certificate of the service.*UNABLE_TO_VERIFY_LEAF_SIGNATURE.*TLS node/);
    const tls = { ca: authority.cert, servername: 'other.example' };
    assert.match(await told(secure, { ...through(open.url), tls }, 'TLS'), /another name/);
    assert.equal(secure.service.seen.length, 0);
  });

  it('is known by its name behind a proxy', async () => {
    const station = await ScriptedStation.start(authority.issueForServer('DNS:localhost'));
    const baseUrl = station.service.url.replace('127.0.0.1', 'localhost');
    await list(station, { ...through(open.url), baseUrl });
    assert.match(await told(station, through(open.url), 'TLS'), /another name/);
    await station.close();
  });

  it('gets the certificate of the client through the proxy', async () => {
    const ask = { ca: authority.cert, requestCert: true, rejectUnauthorized: true };
    const station = await ScriptedStation.start({ ...server, ...ask });
    const own = authority.issueForClient();
    await station.client({ ...through(open.url), tls: { ca: authority.cert, ...own } }).listDevices();
    assert.match(await told(station, through(open.url), 'TLS'), /asks for a certificate of the client/);
    await station.close();
  });

  for (const scheme of ['https', 'http'] as const) {
    describe(`over ${scheme}://, with a proxy that wants a login`, () => {
      const station = (): ScriptedStation => (scheme === 'https' ? secure : clear);

      it('is reached with user and password', async () => {
        await list(station(), through(guarded.url, LOGIN));
      });

      it('is reached with user and password in the address, percent-encoded where need be', async () => {
        await list(station(), through(guarded.url.replace('//', `//someone:${ENCODED}@`)));
      });

      it('NETWORK without them, and the message asks for them', async () => {
        const { message, cause } = await failure(list(station(), through(guarded.url)), 'NETWORK');
        assert.match(message, /asks for a user and a password/);
        assert.equal(cause.status, 407);
        assert.equal(station().service.seen.length, 0);
      });
    });
  }

  for (const [what, login] of [
    ['wrong ones', { username: 'someone', password: 'wrong' }],
    ['a user alone, which is sent', { username: 'someone' }],
  ] as const) {
    it(`NETWORK with ${what}, and the message says that they are not accepted`, async () => {
      const message = await told(secure, through(guarded.url, login));
      assert.match(message, /does not accept its user and password/);
      assert.doesNotMatch(message, /someone|wrong/);
    });
  }

  it('over http:// is asked by the proxy itself, and keeps its session', async () => {
    const client = clear.client(through(open.url));
    assert.equal((await client.listDevices()).length, 2);
    await rtspForEvent(client);
    const { service } = clear;
    assert.ok(open.count(`GET ${service.url}/devices `) > 0);
    assert.equal(open.count(`CONNECT 127.0.0.1:${service.port} `), 0);
    assert.match(service.last('POST', '/rtsp/Gate')?.headers.cookie ?? '', /sid=session-value-1/);
    assert.equal(service.last('POST', '/rtsp/Gate')?.headers.host, `127.0.0.1:${service.port}`);
    assert.equal(service.last('GET', '/devices')?.headers['proxy-authorization'], undefined);
  });

  it('over http:// is reached by a proxy that ends each connection after its first answer, and does not say so', async () => {
    const proxy = await HastyProxy.start();
    const client = clear.client(through(`http://127.0.0.1:${proxy.port}`));
    assert.equal((await client.listDevices()).length, 2);
    await rtspForEvent(client);
    await client.close();
    await proxy.close();
  });

  it('over http:// is TIMEOUT where it is silent behind the proxy, and works again', async () => {
    const { service } = clear;
    service.on('GET', '/devices', 'silence', (request) => service.standard(request));
    const client = clear.client({ ...through(open.url), timeoutMs: 1_000 });
    await failure(client.listDevices(), 'TIMEOUT');
    await client.listDevices();
  });

  it('over http:// is BAD_RESPONSE for more than 32 MiB through the proxy too', async () => {
    clear.service.on('GET', '/devices', { text: ' '.repeat(32 * 1024 * 1024 + 1) });
    await told(clear, through(open.url), 'BAD_RESPONSE');
  });

  it('shows the proxy neither API key nor cookie nor password of the Agent User over https://', async () => {
    const tap = await Wiretap.start(guarded.port);
    const client = secure.client(trusted(through(`http://127.0.0.1:${tap.port}`, LOGIN)));
    await client.listDevices();
    await client.close();
    const { service } = secure;
    assert.match(tap.heard, /^CONNECT 127\.0\.0\.1:\d+ HTTP\/1\.1\r\n/);
    assert.match(tap.heard, /Proxy-Authorization: Basic /);
    for (const secret of [service.apiKey, service.password, 'session-value', 'ApiKey', '/devices']) {
      assert.equal(tap.heard.includes(secret), false, secret);
      assert.equal(guarded.log.includes(secret), false, secret);
    }
    const seen = service.seen.map(({ headers }) => headers['proxy-authorization']);
    assert.ok(seen.length > 0 && seen.every((header) => header === undefined));
    await tap.close();
  });

  it('UNTRUSTED_LINK for a redirect to a foreign origin, and the proxy is not asked for it', async () => {
    for (const station of [secure, clear]) {
      const foreign = await station.otherService();
      const other = `http://127.0.0.1:${foreign.port}`;
      const { service } = station;
      service.on('GET', '/devices', { status: 302, headers: { Location: `${other}/devices` } });
      await told(station, through(open.url), 'UNTRUSTED_LINK');
      assert.equal(foreign.seen.length, 0);
      assert.equal(open.log.includes(`:${foreign.port}`), false);
    }
  });

  it('is reached directly where the proxy node excepts it', async () => {
    const gone = `http://127.0.0.1:${await freePort()}`;
    for (const except of ['127.0.0.1', `127.0.0.1:${secure.service.port}`, '127.0.0.0/8', '*']) {
      await list(secure, through(gone, { except: ['other.example', except] }));
    }
    await told(secure, through(gone, { except: ['127.0.0.1:1', '10.0.0.0/8'] }));
  });

  for (const name of ['https_proxy', 'HTTPS_PROXY']) {
    it(`is reached by the variable ${name}, with or without a scheme, and user and password in it`, async () => {
      process.env[name] = `someone:${ENCODED}@127.0.0.1:${guarded.port}`;
      await list(secure, ENVIRONMENT);
      assert.ok(guarded.count(`CONNECT 127.0.0.1:${secure.service.port} `) > 0);
      process.env[name] = guarded.url;
      await told(secure, ENVIRONMENT);
    });
  }

  for (const name of ['http_proxy', 'HTTP_PROXY']) {
    it(`over http:// is reached by the variable ${name}, which says nothing about https://`, async () => {
      process.env[name] = open.url;
      await list(clear, ENVIRONMENT);
      assert.ok(open.count(`GET ${clear.service.url}/devices `) > 0);
      await list(secure, ENVIRONMENT);
      assert.equal(open.log.includes(`:${secure.service.port} `), false);
    });
  }

  it('is reached directly where no_proxy or NO_PROXY says so, and without any variable', async () => {
    await list(secure, ENVIRONMENT);
    process.env['https_proxy'] = `127.0.0.1:${await freePort()}`;
    await told(secure, ENVIRONMENT);
    for (const name of ['no_proxy', 'NO_PROXY']) {
      process.env[name] = 'other.example, 127.0.0.1';
      await list(secure, ENVIRONMENT);
      delete process.env[name];
    }
  });

  it('is reached directly whatever the variables say where no proxy is to be used', async () => {
    for (const name of VARIABLES.slice(0, 2)) process.env[name] = `127.0.0.1:${await freePort()}`;
    for (const station of [secure, clear]) await list(station, { proxy: { kind: 'none' } });
  });

  it('NETWORK where the proxy is gone, with its address, and the state says since when', async () => {
    const port = await freePort();
    for (const station of [secure, clear]) {
      const client = station.client(trusted(through(`http://someone:hidden@127.0.0.1:${port}`)));
      const { message } = await failure(client.listDevices(), 'NETWORK');
      assert.match(message, new RegExp(`proxy 127\\.0\\.0\\.1:${port} cannot be reached \\(ECONNREFUSED\\)`));
      assert.doesNotMatch(message, /hidden|someone/);
      assert.equal(client.state.kind, 'offline');
    }
  });

  it('NETWORK where the proxy does not allow the port, or does not reach the service', async () => {
    const narrow = await Tinyproxy.start('ConnectPort 443');
    const shut = await told(secure, through(narrow.url));
    assert.match(shut, /refuses a connection to the service \(status 403\)/);
    await list(clear, through(narrow.url));
    await narrow.stop();
    const baseUrl = `https://127.0.0.1:${await freePort()}`;
    const nobody = await told(secure, { ...through(open.url), baseUrl });
    assert.match(nobody, /does not reach the service \(status 5\d\d\)/);
  });

  it('close ends the connections through the proxy', async () => {
    const client = secure.client(trusted(through(open.url)));
    await client.listDevices();
    assert.ok(secure.service.connections > 0);
    await client.close();
    await eventually(() => secure.service.connections === 0, 'the end of the connections');
  });

  it('repeats no password of the proxy that the service echoes', async () => {
    const { service } = secure;
    const basic = Buffer.from(`someone:${PASSWORD}`).toString('base64');
    service.on('GET', '/devices', { status: 500, json: { message: `${PASSWORD} Basic ${basic}` } });
    const { cause } = await failure(list(secure, through(guarded.url, LOGIN)), 'HTTP_ERROR');
    assert.equal(cause.serverMessage, '***');
  });

  it('is reached by an IPv6 proxy', async function () {
    const six = await Wiretap.start(open.port, '::1').catch(() => cannotRun(this, 'there is no address ::1'));
    await list(secure, through(`http://[::1]:${six.port}`));
    await list(clear, through(`[::1]:${six.port}`));
    await six.close();
  });
});
