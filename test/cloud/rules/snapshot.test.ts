import assert from 'node:assert/strict';
import { firstJpegOf } from '../../../lib/cloud/functions/snapshots';
import { JPEG, multipart, PICTURE_TIME } from '../../support/service/pictures';
import type { Reply } from '../../support/service/scripted-service';
import { failure, stationOfEachTest } from '../../support/service/scripted-station';
import { eventually } from '../../support/time/patience';

const LATER = '2026-11-21T10:00:00Z';

describe('snapshots of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(() => service.on('GET', '/sources/Gate', { json: { _links: { 'rel/snapshot': '/picture' } } }));

  function picture(reply: Reply): void {
    service.on('GET', '/picture', reply);
  }

  function typed(type: string, bytes: Buffer, headers: Record<string, string> = {}): Reply & object {
    return { headers: { 'Content-Type': type, ...headers }, bytes };
  }

  const taken = async (): Promise<Buffer> => (await station.client().snapshot('Gate')).jpeg;

  const base64 = JPEG.toString('base64');
  const url64 = JPEG.toString('base64url');
  const parts = multipart('b', [{ jpeg: JPEG, time: LATER }]);
  const dashed = multipart('--b', [{ jpeg: JPEG, time: LATER }]);
  const pictures: [string, Reply][] = [
    ['image/jpeg', typed('image/jpeg', JPEG)],
    ['a type with parameters and capitals', typed('Image/JPEG; name=x', JPEG)],
    ['application/octet-stream', typed('application/octet-stream', JPEG)],
    ['bytes without a type', { bytes: JPEG }],
    ['bytes that call themselves text', typed('text/plain', JPEG)],
    ['bytes that call themselves JSON', typed('application/json', JPEG)],
    ['several parts', typed('multipart/mixed; boundary=b', parts)],
    ['parts whose boundary is told with its dashes', typed('multipart/x-mixed-replace; boundary=--b', parts)],
    ['parts of another kind', typed('multipart/x-mixed-replace;boundary="--b"', dashed)],
    ['JSON with base64 text', { json: { image: base64 } }],
    ['JSON with a data URL for an address', { json: { url: `data:image/jpeg;base64,${base64}` } }],
    ['JSON with a data URL', { json: { Data: `data:image/jpeg;base64,${base64}` } }],
    ['JSON with base64 text for URLs, in a result', { json: { status: 'success', result: { jpeg: url64 } } }],
    ['JSON with base64 text in lines', { json: { content: base64.replace(/.{20}/g, '$&\r\n') } }],
    ['JSON that is base64 text', { json: base64 }],
  ];
  for (const [kind, reply] of pictures) {
    it(`T-19 takes a snapshot that comes as ${kind}`, async () => {
      picture(reply);
      assert.deepEqual(await taken(), JPEG);
    });
  }

  describe('that come without end', () => {
    /** With a preview in it, which ends as the picture does, and in two scans. */
    const IN_SCANS = Buffer.from(
      'ffd8ffe1000cffd8ffdb0003aaffd9ffda000801010000003f0055ff00aaffda000801010000003f0077ff00ffd9',
      'hex',
    );
    const heads: readonly [string, (length: number) => string][] = [
      ['heads', (length) => `--b\r\nContent-Type: image/jpeg\r\nContent-Length: ${length}\r\n\r\n`],
      ['heads that end in LF', (length) => `--b\nContent-Type: image/jpeg\nContent-Length: ${length}\n\n`],
      ['heads without a length', () => '--b\r\nContent-Type: image/jpeg\r\n\r\n'],
      ['heads in LF without a length', () => '--b\nContent-Type: image/jpeg\n\n'],
      ['no heads', () => '--b\r\n\r\n'],
    ];
    const begins: readonly [string, (body: string) => string][] = [
      ['', (body) => body],
      [', behind an empty line', (body) => `\r\n${body}`],
      [', without a first boundary', (body) => body.replace(/^--b\r?\n(?:\r\n)?/, '')],
    ];
    for (const [kind, head] of heads) {
      for (const [begin, begun] of begins) {
        it(`T-19 takes the first picture of parts with ${kind}${begin}, and ends the request`, async () => {
          const bytes = Buffer.concat([Buffer.from(begun(head(IN_SCANS.length))), IN_SCANS]);
          const again = Buffer.concat([Buffer.from(`\r\n${head(JPEG.length)}`), JPEG]);
          picture({ ...typed('multipart/x-mixed-replace; boundary=b', bytes), again });
          assert.deepEqual(await taken(), IN_SCANS);
          await eventually(() => service.endless === 0, 'the end of the request');
        });
      }
    }

    it('T-19 takes one that comes byte by byte, behind a part of another kind', async () => {
      const parts = Buffer.concat([
        Buffer.from('--b\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b\r\n\r\n'),
        IN_SCANS,
      ]);
      const search = firstJpegOf({ 'content-type': 'multipart/x-mixed-replace; boundary=b' });
      const enough = Array.from({ length: parts.length }, (_, place) =>
        search?.(parts.subarray(0, place + 1)),
      );
      const firstAndLast = [enough.findIndex((bytes) => bytes !== undefined) + 1, enough.at(-1)];
      assert.deepEqual(firstAndLast, [parts.length, parts.length]);
    });

    it('T-19 takes one whose segments cannot be read to its first end', async () => {
      const broken = Buffer.from('ffd8ffe00004aabb00ff00ffd9', 'hex');
      picture({
        ...typed('multipart/x-mixed-replace; boundary=b', Buffer.concat([Buffer.from('--b\n\n'), broken])),
        again: JPEG,
      });
      assert.deepEqual(await taken(), broken);
    });

    it('T-19 keeps the connection of parts whose length is told', async () => {
      const bytes = multipart('b', [{ jpeg: JPEG, time: LATER }]);
      picture(typed('multipart/mixed; boundary=b', bytes, { 'Content-Length': String(bytes.length) }));
      const client = station.client();
      await client.snapshot('Gate');
      const opened = service.opened;
      for (let turn = 0; turn < 3; turn += 1) await client.snapshot('Gate');
      assert.equal(service.opened, opened);
    });
  });

  const addresses: [string, unknown][] = [
    ['url', { url: '/blob?sig=a%2Fb%3D' }],
    ['imageUrl in a result', { status: 'success', result: { ImageUrl: 'blob?sig=a%2Fb%3D' } }],
    ['a link', { _links: { '/vendor/rel/image': { href: './blob?sig=a%2Fb%3D' } } }],
  ];
  for (const [kind, json] of addresses) {
    it(`T-19 fetches the picture behind ${kind} of JSON, with key and cookie`, async () => {
      picture({ json });
      service.on('GET', '/blob?sig=a%2Fb%3D', typed('binary/octet-stream', JPEG));
      assert.deepEqual(await taken(), JPEG);
      const { headers } = service.last('GET', '/blob?sig=a%2Fb%3D') ?? {};
      assert.deepEqual([headers?.['apikey'], headers?.cookie], [service.apiKey, 'sid=session-value-1']);
    });
  }

  it('T-02 T-19 adds a width to the query of the link, which stays as it was', async () => {
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/snapshot': '/picture?quality=a%2Fb' } } });
    picture(typed('image/jpeg', JPEG));
    await station.client().snapshot('Gate', { width: 640 });
    assert.equal(service.seen.at(-1)?.path, '/picture?quality=a%2Fb&width=640');
  });

  describe('that are refused with 405', () => {
    const refused = (Allow?: string): Reply => ({
      status: 405,
      headers: Allow === undefined ? {} : { Allow },
    });
    const jpeg = typed('image/jpeg', JPEG);
    const asked = (): string[] =>
      service.seen.flatMap(({ method, path }) => (/picture|blob/.test(path) ? [`${method} ${path}`] : []));

    for (const allowed of ['POST', 'HEAD, post', 'PUT,POST']) {
      it(`T-19 are taken by POST where it allows ${allowed}`, async () => {
        picture(refused(allowed));
        service.on('POST', '/picture', jpeg);
        assert.deepEqual(await taken(), JPEG);
        assert.deepEqual(asked(), ['GET /picture', 'POST /picture']);
      });
    }

    it('T-19 are taken by POST at the place that a redirect leads to', async () => {
      picture({ status: 302, headers: { Location: '/blob' } });
      service.on('GET', '/blob', refused('POST'));
      service.on('POST', '/blob', jpeg);
      assert.deepEqual(await taken(), JPEG);
      assert.deepEqual(asked(), ['GET /picture', 'GET /blob', 'POST /blob']);
    });

    for (const [allowed, posted, status] of [
      [undefined, 204, 405],
      ['PUT', 204, 405],
      ['DELETE, PATCH', 204, 405],
      ['POSTER', 204, 405],
      ['POST', 405, 405],
      ['POST', 503, 503],
    ] as const) {
      const tried = allowed === 'POST' ? `tried once more, answered with ${posted}` : 'asked for no more';
      it(`T-19 are ${tried}, where it allows ${allowed ?? 'nothing'}`, async () => {
        picture(refused(allowed));
        service.on('POST', '/picture', { status: posted, headers: { Allow: 'GET, POST' } });
        const error = await failure(station.client().snapshot('Gate'), 'HTTP_ERROR');
        assert.equal(error.cause.status, status);
        assert.deepEqual(asked(), ['GET /picture', ...(allowed === 'POST' ? ['POST /picture'] : [])]);
      });
    }
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`T-19 follows a redirect of ${status}`, async () => {
      picture({ status, headers: { Location: 'blob' } });
      service.on('GET', '/blob', typed('image/jpeg', JPEG));
      assert.deepEqual(await taken(), JPEG);
    });
  }

  it('T-19 follows JSON with an address once, and not in a circle', async () => {
    picture({ json: { url: '/picture' } });
    await failure(station.client().snapshot('Gate'), 'BAD_RESPONSE');
    assert.ok(service.count('GET', '/picture') <= 3);
  });

  const useless: [string, Reply][] = [
    ['nothing', { status: 204 }],
    ['a page', { headers: { 'Content-Type': 'text/html' }, text: '<html><title>Sign in</title></html>' }],
    ['a picture of another kind', typed('image/png', Buffer.from('89504e470d0a1a0a', 'hex'))],
    ['what only calls itself a JPEG', typed('image/jpeg', Buffer.from('GIF89a'))],
    ['parts without a picture', typed('multipart/mixed; boundary=b', multipart('b', []))],
    ['parts without a boundary', typed('multipart/mixed', parts)],
    ['JSON without a picture', { json: { status: 'success', result: {} } }],
    ['JSON with another text', { json: { image: 'not a picture' } }],
    ['JSON with a place instead of an address', { json: { location: 'Depot', uri: 'rtsp: x' } }],
    ['JSON with null', { json: { image: null, url: null } }],
  ];
  for (const [kind, reply] of useless) {
    it(`T-19 refuses as no picture ${kind}`, async () => {
      picture(reply);
      await failure(station.client().snapshot('Gate'), 'BAD_RESPONSE');
    });
  }

  it('T-19 asks for a JPEG, and takes other forms', async () => {
    picture(typed('image/jpeg', JPEG));
    await station.client().snapshot('Gate');
    const accept = service.last('GET', '/picture')?.headers.accept ?? '';
    assert.match(accept, /^image\/jpeg/);
    assert.match(accept, /multipart\/mixed/);
  });

  it('T-19 tells the time of a header', async () => {
    picture(typed('image/jpeg', JPEG, { 'X-Resource-Timestamp': '2026-11-21T11:59:58.25+02:00' }));
    assert.equal((await station.client().snapshot('Gate')).time, PICTURE_TIME);
  });

  it('T-19 tells the time of a part', async () => {
    picture(typed('multipart/mixed; boundary=b', multipart('b', [{ jpeg: JPEG, time: PICTURE_TIME }])));
    assert.equal((await station.client().snapshot('Gate')).time, PICTURE_TIME);
  });

  it('T-19 tells when the picture came where the service tells no time, or none that can be read', async () => {
    picture(typed('image/jpeg', JPEG, { 'X-Resource-Timestamp': 'yesterday' }));
    const before = Date.now();
    const { time } = await station.client().snapshot('Gate');
    const told = Date.parse(time);
    assert.ok(told >= before - 1 && told <= Date.now() && time.endsWith('Z'));
  });

  it('T-15 T-19 finds the link on an element, pictures before others', async () => {
    const json = [
      { type: 'metadata', _links: { 'rel/snapshot': '/wrong' } },
      { type: 'video', _links: { '/vendor/rel/snapshot': '/picture' } },
    ];
    service.on('GET', '/sources/Gate', { json });
    picture(typed('image/jpeg', JPEG));
    assert.deepEqual(await taken(), JPEG);
  });

  for (const code of ['EdgeOfStream', 'EndOfStream']) {
    it(`T-20 takes a refusal with ${code} as none of rights: no new login for it`, async () => {
      picture({ status: 403, json: { _type: 'Error', code, message: 'asked too often' } });
      const error = await failure(station.client().snapshot('Gate'), 'HTTP_ERROR');
      assert.deepEqual([error.cause.serverCode, service.count('POST', '/login')], [code, 1]);
    });
  }
});
