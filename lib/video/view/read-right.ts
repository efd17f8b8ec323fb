import { isRecord, type JsonRecord, parseSafely } from '../../json/json';
import type { TimeSpan, ViewCamera, ViewFacts, ViewRight } from './right';

/** A right as an address has it; undefined where that is none, such as one of another version. Never throws. */
export function readRight(text: string): ViewRight | undefined {
  const value = parsed(text);
  if (!isRecord(value) || !isRecord(value['camera']) || !isRecord(value['facts'])) return undefined;
  const { station, node, live, expires, recorded } = value;
  if (typeof station !== 'string' || typeof node !== 'string') return undefined;
  if (typeof live !== 'boolean' || typeof expires !== 'number') return undefined;
  const span = spanIn(recorded);
  if (span === undefined && (recorded !== undefined || !live)) return undefined;
  return {
    station,
    node,
    camera: cameraIn(value['camera']),
    ...(span && { recorded: span }),
    live,
    expires,
    facts: factsIn(value['facts']),
  };
}

function parsed(text: string): unknown {
  try {
    return parseSafely(text);
  } catch {
    return undefined;
  }
}

function spanIn(value: unknown): TimeSpan | undefined {
  if (!isRecord(value)) return undefined;
  const { from, to } = value;
  return typeof from === 'number' && typeof to === 'number' && from <= to ? { from, to } : undefined;
}

function cameraIn({ id, remoteId }: JsonRecord): ViewCamera {
  return { ...(typeof id === 'string' && { id }), ...(typeof remoteId === 'string' && { remoteId }) };
}

function factsIn({ time, site, camera, rule, sandbox }: JsonRecord): ViewFacts {
  return {
    ...(typeof time === 'number' && { time }),
    ...(typeof site === 'string' && { site }),
    ...(typeof camera === 'string' && { camera }),
    ...(typeof rule === 'string' && { rule }),
    sandbox: sandbox === true,
  };
}
