import assert from 'node:assert/strict';
import { lengthOfRange, entriesFor, rtpInfoIn, sessionIn } from '../../../lib/video/rtsp/headers';

describe('RTP-Info', () => {
  const READ: [header: string, entries: ReturnType<typeof rtpInfoIn>][] = [
    ['url=rtsp://h/a;seq=1;rtptime=2', [{ url: 'rtsp://h/a', sequence: 1, rtpTime: 2 }]],
    ['url=a;rtptime=4294967295;seq=65535', [{ url: 'a', sequence: 65_535, rtpTime: 4_294_967_295 }]],
    [
      'URL=rtsp://h/a?x=1,2;y=3;seq=7, url=b;seq=8',
      [
        { url: 'rtsp://h/a?x=1,2;y=3', sequence: 7 },
        { url: 'b', sequence: 8 },
      ],
    ],
    ['url="rtsp://h/a";seq = 9', [{ url: 'rtsp://h/a', sequence: 9 }]],
    ['url=a;ssrc=12AB;rtptime=5', [{ url: 'a', rtpTime: 5 }]],
    ['url=a', [{ url: 'a' }]],
    ['url=a;seq=65536;rtptime=4294967296', [{ url: 'a' }]],
    ['url=a;seq=-1;rtptime=x', [{ url: 'a' }]],
    ['seq=1;rtptime=2', []],
    ['', []],
  ];
  for (const [header, entries] of READ)
    it(`is read: ${header}`, () => assert.deepEqual(rtpInfoIn(header), entries));

  const [ONE, TWO] = ['rtsp://h/live/track1', 'rtsp://h/live/track2'];
  for (const [how, urls] of [
    ['as they were asked', [ONE, TWO]],
    ['in another order', [TWO, ONE]],
    ['with another host', ['rtsp://10.0.0.1:554/live/track1', 'rtsp://10.0.0.1:554/live/track2']],
    ['without a host', ['/live/track1', '/live/track2']],
    ['by their last part', ['track1', 'rtsp://h/track2']],
    ['with a slash behind', [`${ONE}/`, `${TWO}/`]],
    ['by names of its own, in order', ['x', 'y']],
  ] as const)
    it(`finds the media that the server names ${how}`, () => {
      const entries = urls.map((url, place) => ({ url, sequence: place }));
      const expected = urls[0] === TWO ? [1, 0] : [0, 1];
      assert.deepEqual(
        entriesFor([ONE, TWO], entries).map((entry) => entry?.sequence),
        expected,
      );
    });

  it('tells of one medium alone', () => {
    assert.deepEqual(entriesFor([ONE, TWO], [{ url: TWO }]), [undefined, { url: TWO }]);
    assert.deepEqual(entriesFor([ONE, TWO], [{ url: 'x' }]), [undefined, undefined]);
    assert.deepEqual(entriesFor([ONE, TWO], []), [undefined, undefined]);
  });
});

describe('the length of a range', () => {
  for (const [range, length] of [
    ['npt=0-60', 60],
    ['npt=0.000-59.800', 59.8],
    ['npt = 10 - 12.5', 2.5],
    ['npt=-20', 20],
    ['npt=0:00:10-1:00:00', 3590],
    ['npt=0-60;time=20260101T000000Z', 60],
    ['npt=0-', undefined],
    ['npt=now-', Infinity],
    ['npt=60-0', undefined],
    ['npt=a-b', undefined],
    ['clock=20260101T000000Z-', undefined],
    ['clock=20260101T235958Z-20260102T000103Z', 65],
    ['clock=20260101T100000.25Z-20260101T100008.5Z', 8.25],
    ['Clock = 20260101T100000Z - 20260101T100008Z;time=20260101T000000Z', 8],
    ['clock=20260101T100000Z-20260101T101500Z;clock=20260101T102000Z-20260101T103000Z', 900],
    ['clock=0-8', undefined],
    ['smpte=0:00:10-0:00:18', 8],
    ['smpte-30-drop=10:07:00:00-10:07:33:05.01', 33],
    [undefined, undefined],
  ] as const)
    it(`is ${length} for ${range}`, () => assert.equal(lengthOfRange(range), length));
});

describe('the session in an answer', () => {
  for (const [header, session] of [
    ['abc', { id: 'abc', timeout: 60 }],
    ['abc;timeout=5', { id: 'abc', timeout: 5 }],
    [' a-b$c ; x=y; TIMEOUT=7', { id: 'a-b$c', timeout: 7 }],
    ['abc;timeout=x', { id: 'abc', timeout: 60 }],
    ['', undefined],
    [';timeout=5', undefined],
    ['a b', undefined],
    ['x'.repeat(257), undefined],
    [undefined, undefined],
  ] as const)
    it(`is ${JSON.stringify(session)} for ${header?.slice(0, 30)}`, () =>
      assert.deepEqual(sessionIn(header), session));
});

describe('what a relay sends to keep us busy', () => {
  const BLANKS = ' '.repeat(60_000);
  const HOSTILE: [what: string, read: () => unknown, expected: unknown][] = [
    ['a range of blanks', () => lengthOfRange(`npt=${BLANKS}x`), undefined],
    ['blanks before a URL', () => rtpInfoIn(`url=${BLANKS}"${BLANKS}x`), []],
    ['parameters without end', () => rtpInfoIn(`url=a${';seq='.repeat(12_000)}\u2028x`), [{ url: 'a' }]],
  ];
  for (const [what, read, expected] of HOSTILE)
    it(`is read in a moment: ${what}`, () => {
      const before = process.cpuUsage();
      assert.deepEqual(read(), expected);
      // Time of the processor, for others may use it, too. It was half a minute.
      assert.ok(process.cpuUsage(before).user < 1_000_000);
    });
});
