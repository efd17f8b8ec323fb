import assert from 'node:assert/strict';
import { definitionOf } from '../support/editor/browser';
import { GROUPS } from '../support/editor/example-canvas';

type Light = readonly [number, number, number];

/**
 * How eyes without one kind of cones see light (Machado, Oliveira and Fernandes, 2009, severity 1).
 */
const EYES: Record<string, readonly [Light, Light, Light]> = {
  'all cones': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  'no red cones': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'no green cones': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'no blue cones': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** Of the labels, in the light theme of Node-RED as in the dark one. */
const LABEL = '#333333';
const LEGIBLE = 4.5;
/** Distance in CIE Lab: two are the least that anyone sees, side by side; fifteen are seen at a glance. */
const DISTINCT = 15;

function lightOf(color: string): Light {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  return parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  ) as unknown as Light;
}

const dot = (row: Light, light: Light): number =>
  row.reduce((sum, factor, index) => sum + factor * (light[index] ?? 0), 0);

const luminance = (light: Light): number => dot([0.2126, 0.7152, 0.0722], light);

function contrast(one: string, other: string): number {
  const lights = [one, other].map((each) => luminance(lightOf(each)) + 0.05);
  return Math.max(...lights) / Math.min(...lights);
}

function labOf(color: string, eyes: readonly [Light, Light, Light]): Light {
  const seen = eyes.map((row) => Math.min(1, Math.max(0, dot(row, lightOf(color))))) as unknown as Light;
  const root = (part: number): number => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116);
  const x = root(dot([0.4124, 0.3576, 0.1805], seen) / 0.95047);
  const y = root(luminance(seen));
  const z = root(dot([0.0193, 0.1192, 0.9505], seen) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

describe('the colours of the palette', () => {
  for (const [group, { color, types }] of Object.entries(GROUPS))
    it(`${group} is ${color}, on which labels can be read`, () => {
      for (const type of types) assert.equal(definitionOf(`rvm-${type}`).color, color, type);
      assert.ok(contrast(color, LABEL) >= LEGIBLE, String(contrast(color, LABEL)));
    });

  for (const [kind, eyes] of Object.entries(EYES))
    it(`are told apart by eyes with ${kind}`, () => {
      const labs = Object.values(GROUPS).map(({ color }) => labOf(color, eyes));
      for (const [index, one] of labs.entries())
        for (const other of labs.slice(index + 1)) {
          const distance = Math.hypot(...one.map((part, axis) => part - (other[axis] ?? 0)));
          assert.ok(distance >= DISTINCT, String(distance));
        }
    });
});
