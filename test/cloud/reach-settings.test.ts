import assert from 'node:assert/strict';
import { ProxyExceptions, proxyChoice, proxySecrets, type ProxySettings } from '../../lib/cloud/http/proxy';
import { tlsFault } from '../../lib/tls';
import { failure, ScriptedStation } from '../support/service/scripted-station';

const SERVICE = new URL('https://api.example.com/v1');

function node(url: string, more: Partial<ProxySettings & { kind: 'proxy' }> = {}): ProxySettings {
  return { kind: 'proxy', url, except: [], ...more };
}

function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

describe('the address of a proxy', () => {
  const READ: [string, string, string, number][] = [
    ['http://proxy.example:3128', 'http:', 'proxy.example', 3128],
    ['http://proxy.example:3128/some/path', 'http:', 'proxy.example', 3128],
    ['http://proxy.example', 'http:', 'proxy.example', 80],
    ['https://proxy.example', 'https:', 'proxy.example', 443],
    ['proxy.local:3128', 'http:', 'proxy.local', 3128],
    [' 10.0.0.5:8080 ', 'http:', '10.0.0.5', 8080],
    ['http://[::1]:3128', 'http:', '::1', 3128],
    ['HTTP://Proxy.Example:80', 'http:', 'proxy.example', 80],
  ];
  for (const [address, protocol, hostname, port] of READ) {
    it(`${JSON.stringify(address)} is ${hostname} port ${port}`, () => {
      assert.deepEqual(proxyChoice(node(address))(SERVICE), { protocol, hostname, port });
    });
  }

  const LOGINS: [string, ProxySettings, string | undefined][] = [
    ['none', node('http://p:1'), undefined],
    ['user and password', node('http://p:1', { username: 'u', password: 'a:b@ä' }), 'u:a:b@ä'],
    ['a user without a password', node('http://p:1', { username: 'u', password: '' }), 'u:'],
    ['a user without a password in the address', node('http://u@p:1'), 'u:'],
    ['a password without a user', node('http://:token@p:1'), ':token'],
    ['an encoded one in the address', node('http://dom%5Cu:a%3Ab%40@p:1'), 'dom\\u:a:b@'],
    ['one with a percent sign that encodes nothing', node('http://u:100%@p:1'), 'u:100%'],
    ['one of the node before that of the address', node('http://x:y@p:1', { username: 'u' }), 'u:'],
  ];
  for (const [what, settings, login] of LOGINS) {
    it(`carries a login: ${what}`, () => {
      const expected = login === undefined ? undefined : basic(login);
      assert.equal(proxyChoice(settings)(SERVICE)?.authorization, expected);
    });
  }

  const UNUSABLE: [string, RegExp][] = [
    ['', /of the proxy node is empty/],
    ['http://', /of the proxy node cannot be read/],
    ['http://u:secret@pro xy:1', /cannot be read/],
    ['proxy.example:99999', /cannot be read/],
    ['socks5://u:secret@proxy.example:1080', /begins with socks5:\/\//],
    ['${PROXY}', /environment variable PROXY, which is not set/],
  ];
  for (const [address, reason] of UNUSABLE) {
    it(`${JSON.stringify(address)} is CONFIG_MISSING that says what is wrong, without repeating it`, async () => {
      const station = await ScriptedStation.start();
      const client = station.client({ proxy: node(address) });
      const { message } = await failure(client.listDevices(), 'CONFIG_MISSING');
      assert.match(message, reason);
      assert.match(message, /enter one such as http:\/\/proxy\.example:3128/);
      assert.doesNotMatch(message, /secret/);
      assert.equal(client.state.kind, 'refused');
      await station.close();
    });
  }

  it('in a variable is CONFIG_MISSING that names the variable, only where the service needs it', async () => {
    const saved = { ...process.env };
    const station = await ScriptedStation.start();
    process.env['no_proxy'] = '';
    process.env['http_proxy'] = ' ';
    process.env['HTTP_PROXY'] = 'socks4://proxy.example';
    process.env['https_proxy'] = 'socks4://proxy.example';
    try {
      const client = station.client({ proxy: { kind: 'environment' } });
      const { message } = await failure(client.listDevices(), 'CONFIG_MISSING');
      assert.match(message, /in the variable HTTP_PROXY begins with socks4:/);
      assert.equal(client.state.kind, 'refused');
      process.env['HTTP_PROXY'] = '';
      await station.client({ proxy: { kind: 'environment' } }).listDevices();
    } finally {
      process.env = saved;
      await station.close();
    }
  });

  it('holds secrets that no error repeats: the password, and user and password together', () => {
    assert.deepEqual(proxySecrets(node('http://u:p%40ss@proxy')), ['p@ss', 'u:p@ss']);
    assert.deepEqual(proxySecrets(node('proxy', { username: 'u', password: 'pass' })), ['pass', 'u:pass']);
    assert.deepEqual(proxySecrets(node('http://u@proxy')), []);
    assert.deepEqual(proxySecrets({ kind: 'none' }), []);
  });
});

describe('what is reached without a proxy', () => {
  const CASES: [entry: string, excepted: string[], others: string[]][] = [
    ['', [], ['https://example.com']],
    ['*', ['https://example.com'], []],
    ['example.com', ['https://example.com', 'https://api.example.com'], ['https://notexample.com']],
    ['.example.com', ['https://api.example.com'], []],
    ['*.example.com', ['https://api.example.com'], []],
    ['Example.COM', ['https://api.example.com'], []],
    ['api.example.com', [], ['https://example.com']],
    ['example.com:443', ['https://example.com'], []],
    ['example.com:80', ['http://example.com'], []],
    ['example.com:8443', [], ['https://example.com']],
    ['https://example.com/path', ['https://example.com'], []],
    ['http://example.com:8080', ['https://example.com:8080'], []],
    ['bücher.example', ['https://bücher.example'], []],
    ['10.0.0.5', ['https://10.0.0.5'], ['https://10.0.0.50']],
    ['10.0.0.0/8', ['https://10.1.2.3:8443'], ['https://11.1.2.3']],
    ['10.0.0.0/99', [], ['https://10.1.2.3']],
    ['0.0.5/8', [], ['https://10.1.2.3']],
    ['::1', ['https://[::1]'], []],
    ['[::1]', ['https://[::1]:8443'], []],
    ['[::1]:8443', ['https://[::1]:8443'], ['https://[::1]']],
    ['2001:DB8:0:0::1', ['https://[2001:db8::1]'], []],
    ['fd00::/8', ['https://[fd12::1]'], ['https://fd00.example']],
  ];
  for (const [entry, excepted, others] of CASES) {
    for (const target of [...excepted, ...others]) {
      const isExcepted = excepted.includes(target);
      it(`${JSON.stringify(entry)} ${isExcepted ? 'excepts' : 'does not except'} ${target}`, () => {
        assert.equal(new ProxyExceptions(['other.test', ` ${entry} `]).has(new URL(target)), isExcepted);
      });
    }
  }
});

describe('the sentence for a TLS connection that fails', () => {
  const OF_SSL = 'write EPROTO 00:error:0A000412:SSL routines:';
  const CASES: [string, string, RegExp | undefined][] = [
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', '', /asks for a certificate of the client/],
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', '', /does not accept the certificate of the client/],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', '', /does not accept the certificate of the client/],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', '', /does not accept the certificate of the client/],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', '', /may ask for a certificate of the client/],
    ['EPROTO', `${OF_SSL}ssl3_read_bytes:sslv3 alert bad certificate`, /does not accept/],
    ['EPROTO', `${OF_SSL}ssl3_get_record:wrong version number`, /http:\/\/ instead/],
    ['CERT_NOT_YET_VALID', '', /check the clock/],
    ['SELF_SIGNED_CERT_IN_CHAIN', '', /TLS node of the cloud, or into NODE_EXTRA_CA_CERTS/],
    ['ECONNRESET', '', undefined],
  ];
  for (const [code, message, sentence] of CASES) {
    it(`${code}${message === '' ? '' : ' with a reason in its text'} ${sentence === undefined ? 'has none' : 'says what to do'}`, () => {
      const said = tlsFault(code, message, 'service');
      if (sentence === undefined) assert.equal(said, undefined);
      else assert.match(said ?? '', sentence);
    });
  }

  it('does not send the user of a proxy to the TLS node', () => {
    assert.doesNotMatch(tlsFault('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', '', 'proxy') ?? '', /TLS node/);
    assert.doesNotMatch(tlsFault('SELF_SIGNED_CERT_IN_CHAIN', '', 'proxy') ?? '', /TLS node/);
  });
});
