import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { readAddress, signAddress, type ViewRight } from '../../../lib/video/view/signed-address';
import { few } from '../../support/suite/lanes';

const KEY = randomBytes(32);
const NOW = Date.UTC(2026, 2, 4, 5, 10);
const GUESSES = few(1_000, 1_000, 10_000);

const RIGHT: ViewRight = {
  station: 'north',
  node: 'a1b2c3d4e5f60718',
  camera: { id: '4711', remoteId: 'r-4711' },
  recorded: { from: NOW - 25_000, to: NOW - 5000 },
  live: true,
  expires: NOW + 3_600_000,
  facts: { time: NOW - 20_000, site: 'Hafen "Süd" <1>', camera: '門 1', rule: 'Intrusion', sandbox: true },
};

/** The address with another right in it, and the signature as it was. */
function swapped(address: string, changes: Partial<ViewRight>): string {
  const [, signature] = address.split('.');
  return `${Buffer.from(JSON.stringify({ ...RIGHT, ...changes })).toString('base64url')}.${signature}`;
}

/** An address of anything, signed as ours are. */
function signed(text: string, key: Buffer = KEY): string {
  const body = Buffer.from(text).toString('base64url');
  const mac = createHmac('sha256', key).update('remote-monitoring/view/1\n').update(body);
  return `${body}.${mac.digest('base64url')}`;
}

describe('the address of a view', () => {
  const address = signAddress(KEY, RIGHT);
  const assertInvalid = (sent: string, what = sent.slice(0, 100)): void =>
    assert.deepEqual(readAddress(KEY, sent, NOW), { refused: 'invalid' }, what);

  it('gives back the right that it was made of', () => {
    assert.deepEqual(readAddress(KEY, address, NOW), { right: RIGHT });
  });

  it('is read by another instance that has the key, and by none that has another', () => {
    assert.deepEqual(readAddress(Buffer.from(KEY), address, NOW), { right: RIGHT });
    assert.deepEqual(readAddress(randomBytes(32), address, NOW), { refused: 'invalid' });
  });

  it('gives back a right without a recording, without live video, and without facts', () => {
    const { recorded: _recorded, ...live } = RIGHT;
    const bare = { ...RIGHT, live: false, camera: { id: '1' }, facts: { sandbox: false } };
    for (const right of [live, bare])
      assert.deepEqual(readAddress(KEY, signAddress(KEY, right), NOW), { right });
  });

  const others: Record<string, Partial<ViewRight>> = {
    station: { station: 'south' },
    node: { node: 'ffffffffffffffff' },
    camera: { camera: { id: '4712', remoteId: 'r-4711' } },
    'remote camera': { camera: { id: '4711', remoteId: 'r-4712' } },
    beginning: { recorded: { from: NOW - 3_600_000, to: NOW - 5000 } },
    end: { recorded: { from: NOW - 25_000, to: NOW } },
    'right to live video': { live: false },
    expiry: { expires: NOW + 7_200_000 },
    fact: { facts: { ...RIGHT.facts, sandbox: false } },
  };
  for (const [what, changes] of Object.entries(others)) {
    it(`is refused with another ${what} in it`, () => assertInvalid(swapped(address, changes)));
  }

  it('is refused with any character changed, left out or added', () => {
    for (let at = 0; at < address.length; at++) {
      const [before, here, after] = [address.slice(0, at), address[at], address.slice(at + 1)];
      for (const other of ['A', 'b', '0', '-', '_', '.', '=', '%', ' ', 'é', '']) {
        if (other !== here) assertInvalid(before + other + after, `${at} ${other}`);
      }
      assertInvalid(`${before}A${here}${after}`);
    }
  });

  it('has one spelling: bits that base64 ignores are not ignored', () => {
    const last = address.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = alphabet[alphabet.indexOf(last) + 1] ?? '';
    const [one, other] = [last, twin].map((end) => Buffer.from(address.slice(-43, -1) + end, 'base64url'));
    assert.deepEqual(one, other);
    for (const sent of [address.slice(0, -1) + twin, `${address}=`]) assertInvalid(sent);
  });

  it('opens nothing from the millisecond on in which it expires', () => {
    assert.ok('right' in readAddress(KEY, address, RIGHT.expires - 1));
    assert.deepEqual(readAddress(KEY, address, RIGHT.expires), { refused: 'expired' });
  });

  it('says nothing of its expiry where the signature is wrong', () => {
    assert.deepEqual(readAddress(randomBytes(32), address, RIGHT.expires + 1), { refused: 'invalid' });
  });

  it(`is not found by ${GUESSES} guesses`, () => {
    const [body = ''] = address.split('.');
    for (let count = 0; count < GUESSES; count++)
      assertInvalid(`${body}.${randomBytes(32).toString('base64url')}`);
  });

  it('is never an exception, whatever is signed or sent', () => {
    const changes = [
      { station: 1 },
      { recorded: null },
      { recorded: { from: 2, to: 1 } },
      { recorded: undefined, live: false },
      { expires: '9' },
    ];
    const bodies = ['', 'null', '[]', '{', '"text"', '{"camera":1,"facts":2}'];
    for (const body of [...bodies, ...changes.map((change) => JSON.stringify({ ...RIGHT, ...change }))])
      assertInvalid(signed(body), body);
    const [signs, long] = ['é'.repeat(50), 'A'.repeat(1_000_000)];
    for (const sent of ['', '.', 'x', '..', '\u0000', signs, '.'.repeat(5000), long]) assertInvalid(sent);
  });

  it('is short enough for messengers with the longest names in any script', () => {
    const name = '門'.repeat(500);
    const facts = { ...RIGHT.facts, site: name, camera: name, rule: name };
    const long = signAddress(KEY, { ...RIGHT, facts });
    assert.ok(long.length <= 2048, String(long.length));
    const read = readAddress(KEY, long, NOW);
    assert.ok('right' in read);
    assert.equal(read.right.facts.site, '門'.repeat(80));
  });

  it('has names in one line, without half a character', () => {
    const site = `A\nB\u202e${'😀'.repeat(60)}`;
    const read = readAddress(KEY, signAddress(KEY, { ...RIGHT, facts: { site, sandbox: false } }), NOW);
    assert.ok('right' in read);
    assert.match(read.right.facts.site ?? '', /^A B 😀+$/u);
  });

  it('is not made of ids that are far too long', () => {
    const camera = { id: 'x'.repeat(3000) };
    const error = { name: 'RvmError', code: 'BAD_INPUT' };
    assert.throws(() => signAddress(KEY, { ...RIGHT, camera }), error);
  });

  it('ends with a character that messengers take for a part of a link', () => {
    for (let count = 0; count < 200; count++)
      assert.match(signAddress(randomBytes(32), RIGHT), /^[\w-]+\.[\w-]{42}[A-Za-z0-9]$/);
  });
});
