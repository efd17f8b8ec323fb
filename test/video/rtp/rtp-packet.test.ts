import assert from 'node:assert/strict';
import { readRtpPacket } from '../../../lib/video/rtp/jitter-buffer';
import { rtpPacket } from '../../../scripts/fuzz/inputs/rtp';

const PAYLOAD = Buffer.from('payload');

describe('the head of an RTP packet', () => {
  it('tells type, number, time, source and mark', () => {
    const fields = { payloadType: 97, sequence: 65_535, rtpTime: 0xfedcba98, ssrc: 0xffffffff, marker: true };
    assert.deepEqual(readRtpPacket(rtpPacket(PAYLOAD, fields)), { ...fields, payload: PAYLOAD });
  });

  it('ends behind contributing sources, an extension, and before the padding', () => {
    const packet = readRtpPacket(rtpPacket(PAYLOAD, { sources: 15, extension: 8, padding: 5 }));
    assert.deepEqual(packet?.payload, PAYLOAD);
  });

  it('may be followed by nothing', () => {
    assert.equal(readRtpPacket(rtpPacket(Buffer.alloc(0)))?.payload.length, 0);
    assert.equal(readRtpPacket(rtpPacket(Buffer.alloc(0), { padding: 9 }))?.payload.length, 0);
  });

  it('is of version 2', () => {
    for (const first of [0x00, 0x40, 0xc0]) {
      const bytes = rtpPacket(PAYLOAD);
      bytes[0] = first;
      assert.equal(readRtpPacket(bytes), undefined);
    }
  });

  it('is not cut, wherever that is', () => {
    const bytes = rtpPacket(PAYLOAD, { sources: 2, extension: 8 });
    const head = bytes.length - PAYLOAD.length;
    for (let length = 0; length < head; length += 1)
      assert.equal(readRtpPacket(bytes.subarray(0, length)), undefined, `${length} bytes`);
  });

  it('is that of a packet without padding where that counts none, or more than there is', () => {
    for (const count of [0, PAYLOAD.length + 2, 255]) {
      const bytes = rtpPacket(PAYLOAD, { padding: 1 });
      bytes[bytes.length - 1] = count;
      assert.deepEqual(readRtpPacket(bytes)?.payload, Buffer.concat([PAYLOAD, Buffer.from([count])]));
    }
  });
});
