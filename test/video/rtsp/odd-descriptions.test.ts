import assert from 'node:assert/strict';
import { readDescription } from '../../../lib/video/rtsp/sdp';

const HEAD = ['v=0', 'o=- 1 1 IN IP4 10.0.0.9', 's=x', 't=0 0'];
const [MEDIUM, MAP, PARAMETERS] = [
  'm=video 0 RTP/AVP 96',
  'a=rtpmap:96 H264/90000',
  'a=fmtp:96 packetization-mode=1;x=y',
];
const CONTROL = 'a=control:track1';
const WHOLE = [MEDIUM, MAP, PARAMETERS, CONTROL];

/** As cameras send them, and players take them. */
const ODD: Record<string, string[]> = {
  'the port is below zero': [...HEAD, 'm=video -1002003004 RTP/AVP 96', ...WHOLE.slice(1)],
  'the port is beyond all ports': [...HEAD, 'm=video 65536/2 RTP/AVP 96', ...WHOLE.slice(1)],
  'the port is a word': [...HEAD, 'm=video any RTP/AVP 96', ...WHOLE.slice(1)],
  'two blanks stand in the medium': [...HEAD, 'm=video  0  RTP/AVP  96 ', ...WHOLE.slice(1)],
  'a tab stands in the medium': [...HEAD, 'm=video\t0\tRTP/AVP\t96', ...WHOLE.slice(1)],
  'a type is a word': [...HEAD, 'm=video 0 RTP/AVP (null) 96', ...WHOLE.slice(1)],
  'the protocol is in small letters': [...HEAD, 'm=video 0 rtp/avp/tcp 96', ...WHOLE.slice(1)],
  'two blanks stand in the map': [...HEAD, MEDIUM, 'a=rtpmap:96  H264/90000', ...WHOLE.slice(2)],
  'blanks stand around the rate': [...HEAD, MEDIUM, 'a=rtpmap: 96 H264 / 90000 ', ...WHOLE.slice(2)],
  'two blanks stand before parameters': [
    ...HEAD,
    MEDIUM,
    MAP,
    'a=fmtp:96  packetization-mode=1; x=y',
    CONTROL,
  ],
  'no line stands before the medium': WHOLE,
  'a sound has no type': [...HEAD, ...WHOLE, 'm=audio 0 RTP/AVP (null)', 'a=rtpmap', 'a=control:track2'],
  'bytes that are no text stand in it': [...HEAD, MEDIUM, 'c=IN IP4 \u0007&\ufffd', ...WHOLE.slice(1), '\0'],
};

describe('a description as cameras send it', () => {
  for (const end of ['\r\n', '\n', '\r'])
    for (const [what, lines] of Object.entries(ODD))
      it(`is read where ${what}, with ${JSON.stringify(end)} behind each line`, () => {
        const { media } = readDescription(lines.join(end), 16);
        const [video] = media.filter(({ kind }) => kind === 'video');
        const parameters = new Map([
          ['packetization-mode', '1'],
          ['x', 'y'],
        ]);
        assert.deepEqual(video, {
          kind: 'video',
          isClear: true,
          formats: [
            { kind: 'video', payloadType: 96, encoding: 'H264', clockRate: 90_000, channels: 1, parameters },
          ],
          control: 'track1',
        });
      });

  it('is read in a moment where it is made to keep us busy', () => {
    const blanks = ' '.repeat(60_000);
    const lines = [
      `m=video 0 RTP/AVP${` ${'9'.repeat(40)}`.repeat(1000)}`,
      `m=video${blanks}x`,
      MEDIUM,
      `a=rtpmap:96${blanks}x`,
      `a=fmtp:96${blanks}`,
    ];
    const before = process.cpuUsage();
    readDescription(lines.join('\n'), 16);
    // Time of the processor, for others may use it, too.
    assert.ok(process.cpuUsage(before).user < 1_000_000);
  });
});
