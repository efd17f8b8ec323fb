import assert from 'node:assert/strict';
import { readDescription } from '../../../lib/video/rtsp/sdp';

const HEAD = 'v=0\no=- 1 1 IN IP4 10.0.0.9\ns=x\nt=0 0\n';
const [MEDIUM, MAP, PARAMETERS] = [
  'm=video 0 RTP/AVP 96',
  'a=rtpmap:96 H264/90000',
  'a=fmtp:96 packetization-mode=1;x=y',
];
const CONTROL = 'a=control:track1';
const WHOLE = HEAD + [MEDIUM, MAP, PARAMETERS, CONTROL].join('\n');

/** As cameras send them, and players take them: what stands in the place of a line. */
const ODD: Record<string, [line: string, other: string]> = {
  'the port is below zero': [MEDIUM, 'm=video -1002003004 RTP/AVP 96'],
  'the port is beyond all ports': [MEDIUM, 'm=video 65536/2 RTP/AVP 96'],
  'the port is a word': [MEDIUM, 'm=video any RTP/AVP 96'],
  'two blanks stand in the medium': [MEDIUM, 'm=video  0  RTP/AVP  96 '],
  'a tab stands in the medium': [MEDIUM, 'm=video\t0\tRTP/AVP\t96'],
  'a type is a word': [MEDIUM, 'm=video 0 RTP/AVP (null) 96'],
  'the protocol is in small letters': [MEDIUM, 'm=video 0 rtp/avp/tcp 96'],
  'two blanks stand in the map': [MAP, 'a=rtpmap:96  H264/90000'],
  'blanks stand around the rate': [MAP, 'a=rtpmap: 96 H264 / 90000 '],
  'two blanks stand before parameters': [PARAMETERS, 'a=fmtp:96  packetization-mode=1; x=y'],
  'no line stands before the medium': [HEAD, ''],
  'a sound has no type': [CONTROL, `${CONTROL}\nm=audio 0 RTP/AVP (null)\na=rtpmap\na=control:track2`],
  'bytes that are no text stand in it': [MEDIUM, `${MEDIUM}\nc=IN IP4 \u0007&\ufffd`],
  'a zero stands behind it': [CONTROL, `${CONTROL}\n\0`],
};

describe('a description as cameras send it', () => {
  for (const end of ['\r\n', '\n', '\r'])
    for (const [what, [line, other]] of Object.entries(ODD))
      it(`is read where ${what}, with ${JSON.stringify(end)} behind each line`, () => {
        const { media } = readDescription(WHOLE.replace(line, other).replaceAll('\n', end), 16);
        const [video] = media.filter(({ kind }) => kind === 'video');
        const parameters = new Map(Object.entries({ 'packetization-mode': '1', x: 'y' }));
        const coding = { payloadType: 96, encoding: 'H264', clockRate: 90_000, channels: 1, parameters };
        const formats = [{ kind: 'video', ...coding }];
        assert.deepEqual(video, { kind: 'video', isClear: true, formats, control: 'track1' });
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
